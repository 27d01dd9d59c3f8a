import { presence } from '../base/fields.ts';
import type { SourceValue } from './source-value.ts';

/** Environment of this process; other files read it only from here. */
export const environment: Record<string, string | undefined> = process.env;

/** Settings of client commands: flags override the environment. */
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

/** Value of a flag or variable, in the form of a value of the file. */
export function outside(file: string, value: string | undefined): SourceValue | undefined {
  if (presence(value) === undefined) return undefined;
  return { file, line: null, path: '', value: value ?? '', loose: true, hidden: !file.startsWith('--') };
}
