slow=/dev/$(lsblk -bdno NAME,SIZE | awk '$2==1073741824 {print $1}')
fast=/dev/$(lsblk -bdno NAME,SIZE | awk '$2==536870912 {print $1}')
cd /tmp || exit
make() { cat >"$1.toml" <<X
name = "inside"
about = ""
repeat = 2
[devices.slow]
size = "1G"
[devices.fast]
size = "512M"
[[stack]]
layer = "$1"
name = "layer"
on = { origin = "slow", cache = "fast" }
$2
[[stack]]
layer = "ext4"
on = "layer"
[[stage]]
do = "command"
name = "work"
measure = true
shell = '''touch {mount}/begun; sleep 600'''
X
}
killed() { /init run "$1.toml" --destroy-data slow=$slow --destroy-data fast=$fast --allow-commands --out "$2" >said 2>&1 & run=$!
for _ in $(seq 600); do ls /run/fathom_*/begun >/dev/null 2>&1 && break; sleep 0.2; done
tail -n 3 said; ls /run/fathom_*/begun; kill -9 $run; wait $run; }
cleaned() { lsblk; /init clean "$1" --yes; echo "CLEANED $1 $?"; lsblk; ls /sys/fs/bcache; /init clean "$1"; echo "AGAIN $1 $?"; grep -o '"error":"[^"]*' "$1/transcript.jsonl"; }
make lvmcache 'size = "512M"
cache_size = "64M"'
make bcache ''
killed lvmcache whole; cleaned whole
killed lvmcache cut; head -n 2 cut/transcript.jsonl >short; cp short cut/transcript.jsonl; cleaned cut
killed bcache bcache; cleaned bcache
exit
