# Sourced: what a step that is silent for long is doing, on a terminal and in a log alike.
#   progress "step 2 of 5: unpacking" "10 s"   says so, and how long it has gone on each 30 s, until the next call or progress_end;
#                                              "10 s" is what it takes on a quiet machine with two processors
exec 3>&1 # also while a step's own words go to a file
progress_pid=
progress_end() {
	[ -z "$progress_pid" ] || { kill "$progress_pid" && wait "$progress_pid"; } 2> /dev/null || true
	progress_pid=
}
progress() {
	progress_end
	echo "... $1 (about $2)" >&3
	(
		trap - EXIT
		SECONDS=0
		exec 4<> <(:) # a pipe that never says anything: to wait without a process that would be left behind
		while ! read -rt 30 -u 4; do
			echo "... $1: $((SECONDS / 60)) min $((SECONDS % 60)) s of about $2" >&3
		done
	) > /dev/null 2>&1 &
	progress_pid=$!
}
trap progress_end EXIT
