import { CliError } from '../shared/exit-codes.ts';

/** `['team=search', 'run=7']` as `{ team: 'search', run: '7' }`. */
export function parseMetadata(pairs: string[] | undefined): Record<string, string> | undefined {
  if (pairs === undefined) return undefined;
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw new CliError(`--metadata takes key=value, not '${pair}'.`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}
