/** Command with its completions. */
export interface CommandNode {
  /** Path such as ` batch run`, with a space before each command; '' for the program. */
  path: string;
  /** Subcommands or choices; empty if any word can follow. */
  words: Word[];
  flags: Flag[];
}

export interface Word {
  word: string;
  about: string;
}

export interface Flag {
  long: string;
  short: string | undefined;
  about: string;
  takesValue: boolean;
}

/** Completion scripts by shell. Where no completion of ours fits, the shell offers files. */
export const scripts = { bash, zsh, fish } as const;

function bash(places: readonly CommandNode[]): string {
  return `# Completion of offpeak for bash: source <(offpeak completion bash)
_offpeak() {
  local word place= words= cur=\${COMP_WORDS[COMP_CWORD]}
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$place $word" in
      ${pathsOf(places)}) place="$place $word" ;;
    esac
  done
  case "\${COMP_WORDS[COMP_CWORD-1]}" in
    ${valueFlagsOf(places)}) return ;;
  esac
  if [[ $cur == -* ]]; then
    case "$place" in
${branches(places, ({ flags }) => `words=${quote(flags.map(({ long }) => long).join(' '))}`)}
    esac
  else
    case "$place" in
${branches(groupsOf(places), ({ words }) => `words=${quote(words.map(({ word }) => word).join(' '))}`)}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _offpeak offpeak
`;
}

function zsh(places: readonly CommandNode[]): string {
  const describe = (words: { word: string; about: string }[]) =>
    words.map(({ word, about }) => quote(`${word}:${about.replaceAll(':', '\\:')}`)).join(' ');
  return `#compdef offpeak
# Completion of offpeak for zsh: source <(offpeak completion zsh)
_offpeak() {
  local word place=
  local -a found
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$place $word" in
      ${pathsOf(places)}) place="$place $word" ;;
    esac
  done
  case "\${words[CURRENT-1]}" in
    ${valueFlagsOf(places)}) _files; return ;;
  esac
  if [[ \${words[CURRENT]} == -* ]]; then
    case "$place" in
${branches(places, ({ flags }) => `found=(${describe(flags.map(({ long, about }) => ({ word: long, about })))})`)}
    esac
    _describe -o flag found
  else
    case "$place" in
${branches(groupsOf(places), ({ words }) => `found=(${describe(words)})`)}
      *) _files; return ;;
    esac
    _describe command found
  fi
}
if [[ $funcstack[1] == _offpeak ]]; then _offpeak "$@"; else compdef _offpeak offpeak; fi
`;
}

function fish(places: readonly CommandNode[]): string {
  const at = (path: string) => `complete -c offpeak -n ${quote(`__offpeak_at ${quoteFish(path)}`)}`;
  const lines = places.flatMap(({ path, words, flags }) => [
    ...words.map(({ word, about }) => `${at(path)} -f -a ${word} -d ${quoteFish(about)}`),
    ...flags.map(({ long, short, about, takesValue }) => {
      const names = `-l ${long.slice(2)}${short === undefined ? '' : ` -s ${short.slice(1)}`}`;
      return `${at(path)} ${names}${takesValue ? ' -r' : ''} -d ${quoteFish(about)}`;
    }),
  ]);
  return `# Completion of offpeak for fish: offpeak completion fish | source
function __offpeak_at
  set -l place ''
  for word in (commandline -opc)[2..]
    if contains -- "$place $word" ${places
      .slice(1)
      .map(({ path }) => quoteFish(path))
      .join(' ')}
      set place "$place $word"
    end
  end
  test "$place" = "$argv[1]"
end
${lines.join('\n')}
`;
}

/** Branches of a `case` statement, one for each command. */
function branches(places: readonly CommandNode[], body: (place: CommandNode) => string): string {
  return places.map((place) => `      ${quote(place.path)}) ${body(place)} ;;`).join('\n');
}

/** Commands that take only certain words. */
function groupsOf(places: readonly CommandNode[]): CommandNode[] {
  return places.filter(({ words }) => words.length > 0);
}

/** Paths of all commands, as the pattern of a `case` branch. */
function pathsOf(places: readonly CommandNode[]): string {
  return places
    .slice(1)
    .map(({ path }) => quote(path))
    .join('|');
}

/** Flags with a value. No flag has a value in one command and none in another. */
function valueFlagsOf(places: readonly CommandNode[]): string {
  const flags = places.flatMap((place) => place.flags).filter(({ takesValue }) => takesValue);
  const names = flags.flatMap(({ long, short }) => (short === undefined ? [long] : [long, short]));
  return [...new Set(names)].join('|');
}

/** Quotes a word for bash and zsh. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function quoteFish(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
