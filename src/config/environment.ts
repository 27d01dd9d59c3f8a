import type { SourceValue } from './source-value.ts';

/** The environment of this process. No other file looks at it. */
export const environment: Record<string, string | undefined> = process.env;

/** What the client commands take from outside: flags over environment. */
export function clientSettings(
  flags: { url?: string | undefined; key?: string | undefined },
  env: Record<string, string | undefined> = environment,
): { url: string | undefined; key: string | undefined; adminKey: string | undefined } {
  return {
    url: flags.url ?? presence(env.OFFPEAK_URL),
    key: flags.key ?? presence(env.OFFPEAK_API_KEY),
    adminKey: flags.key ?? presence(env.OFFPEAK_ADMIN_KEY),
  };
}

/** A variable that is set to nothing is not set. */
export function presence(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}

/** A value that stands in a flag or a variable, as one of the file. */
export function outside(file: string, value: string | undefined): SourceValue | undefined {
  if (presence(value) === undefined) return undefined;
  return { file, line: null, path: '', value: value ?? '', loose: true, hidden: !file.startsWith('--') };
}
