# bash completion of drdotnet: `source` it, or put it into /usr/share/bash-completion/completions/drdotnet
# The words come from the program itself, so that they are those of its version.

_drdotnet_pids() {
	"$1" ps --json 2> /dev/null | grep -o '"pid": *[0-9]*' | grep -o '[0-9]*$'
}

_drdotnet() {
	local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
	local words
	if ((COMP_CWORD == 1)); then
		words=$("$program" --completion-words 2> /dev/null)
	else
		case $before in
		-f | --file)
			mapfile -t COMPREPLY < <(compgen -d -S / -- "$word"; compgen -f -- "$word" | grep -E '\.(yaml|yml|json)$')
			return
			;;
		--baseline)
			mapfile -t COMPREPLY < <(compgen -d -S / -- "$word"; compgen -f -- "$word" | grep -E '\.json$')
			return
			;;
		-o | --output | --reports)
			mapfile -t COMPREPLY < <(compgen -d -- "$word")
			return
			;;
		--pid) words=$(_drdotnet_pids "$program") ;;
		--profiler) words="CPUHotpaths GCSurvivors MemoryLeak DuplicatedStrings Allocations RuntimePauses" ;;
		--roots) words="Auto Exact NoCollection" ;;
		--walks) words="2 3 5" ;;
		--pause-budget) words="100 200 500 1000" ;;
		--duration) words="10s 30s 1m 5m" ;;
		--frequency) words="99 499 999" ;;
		--token-file | --tls-cert | --tls-key)
			mapfile -t COMPREPLY < <(compgen -f -- "$word")
			return
			;;
		--bind) words="127.0.0.1 ::1 0.0.0.0" ;;
		--sessions) words="1 2 4" ;;
		--name | -p | --port) return ;;
		*) words=$("$program" --completion-words "$command" 2> /dev/null) ;;
		esac
		if [[ $command == diff && $word != -* ]]; then
			mapfile -t COMPREPLY < <(compgen -d -- "$word"; compgen -f -- "$word" | grep -E '\.json$')
			return
		fi
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -F _drdotnet drdotnet
