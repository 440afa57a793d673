# In the emulated machine: one NAME LOAD WARM WORD... starts an application of the corpus, waits WARM seconds and profiles it; what came of it is printed as a
# line "RESULT NAME <a packed archive>". Who calls `early NAME LOAD` before has it started then.
echo "KERNEL $(uname -sr)"
ready_seconds=180 session_seconds=240
mkdir -p /tmp/results

early() {
	mkdir -p "/tmp/results/$1"
	date +%s > "/tmp/results/$1.began"
	/apps/CorpusApp/CorpusApp "$2" > "/tmp/results/$1/app.log" 2>&1 &
	echo $! > "/tmp/results/$1.pid"
}

# Seconds of CPU that its threads had, and that they waited for; of all together.
witness() {
	cat /proc/$1/task/*/schedstat 2> /dev/null | awk '{ ran += $1; waited += $2 } END { printf "%.3f %.3f ", ran / 1e9, waited / 1e9 }'
	awk '/^cpu / { printf "%.2f ", ($2 + $3 + $4 + $6 + $7 + $8) / 100 }' /proc/stat
	cat /proc/uptime
}

one() {
	name=$1 load=$2 warm=$3
	shift 3
	[ -s "/tmp/results/$name.pid" ] || early "$name" "$load"
	pid=$(cat "/tmp/results/$name.pid") began=$(cat "/tmp/results/$name.began") folder=/tmp/results/$name
	for i in $(seq $ready_seconds); do
		grep -q '"ready"' "$folder/app.log" && break
		[ -d "/proc/$pid" ] || break
		sleep 1
	done
	left=$((began + warm - $(date +%s)))
	[ "$left" -le 3 ] && left=3
	sleep "$left"
	witness "$pid" > "$folder/before"
	for try in 1 2; do # a machine that others keep busy may be too slow for one
		timeout $session_seconds /product/drdotnet "$@" --pid "$pid" -o "$folder/report" > "$folder/said.json" 2> "$folder/said.err"
		status=$?
		echo $status > "$folder/status"
		[ $status -ne 0 ] || break
	done
	witness "$pid" > "$folder/after"
	[ -d "/proc/$pid" ] || echo ended > "$folder/ended"
	kill -9 "$pid"
	rm -f "$folder/report/report.html"
	echo "RESULT $name $(tar -C "$folder" -cf - . | gzip -9 | base64 -w 0)"
	rm -rf "$folder"
}
