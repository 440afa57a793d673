# What deploy/completion/_drdotnet asks zsh to offer after "drdotnet $1", one a line.
words=(drdotnet ${=1})
CURRENT=$#words
compadd() { print -rl -- ${(P)2} }
_files() { print -r -- "files $*" }
compdef() { $1 }
source deploy/completion/_drdotnet
