# fish completion of drdotnet: `drdotnet completion fish | source`, or put it into ~/.config/fish/completions. The words come from the program
# itself, so that they are those of its version.

function __drdotnet_words
    set -l words (commandline -opc) (commandline -ct)
    set -l found ($words[1] --complete $words[2..-1] 2> /dev/null)
    switch "$found[1]"
        case ':files'
            __fish_complete_path (commandline -ct)
        case ':files *'
            set -l kinds (string replace -a ' ' '|' (string replace ':files ' '' -- $found[1]))
            __fish_complete_path (commandline -ct) | string match -r -- '^.*(?:/|\.(?:'$kinds'))(?:\t.*)?$'
        case ':folders'
            __fish_complete_directories (commandline -ct) ''
        case '*'
            printf '%s\n' $found
    end
end
complete -c drdotnet -f -a '(__drdotnet_words)'
