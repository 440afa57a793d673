# bash completion of drdotnet: `source <(drdotnet completion bash)`, or put it into /usr/share/bash-completion/completions/drdotnet
# The words come from the program itself, so that they are those of its version.

_drdotnet() {
	local word=${COMP_WORDS[COMP_CWORD]} words kinds
	words=$("${COMP_WORDS[0]}" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
	case $words in
	:files*)
		kinds=${words#:files}
		mapfile -t COMPREPLY < <(compgen -d -S / -- "$word"; compgen -f -- "$word" | grep -E "\.(${kinds// /|})\$|^${kinds:+$}")
		;;
	:folders) mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
	*) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word") ;;
	esac
}
complete -F _drdotnet drdotnet
