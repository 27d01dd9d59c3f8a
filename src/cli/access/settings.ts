import { Option } from 'commander';
import { limitNames } from '../../core/limits.ts';
import type { LimitsBody } from '../../wire/admin/limits.ts';
import { CliError } from '../shared/exit-codes.ts';
import { keyValue, withEntry } from '../shared/commands.ts';

/** Option that reads `--limit requests_per_minute=100 --limit open_batches=none` as the `limits` of a request. */
export const limitsOption = new Option(
  '--limit <name=value>',
  `limit to set, or none to lift it (repeatable): ${limitNames.join(', ')}; queued_tokens.<model>=<n> by model`,
).argParser((pair, before: LimitsBody | undefined) => addLimit(before ?? {}, pair));

function addLimit(limits: NonNullable<LimitsBody>, pair: string): LimitsBody {
  const [name, text] = keyValue('--limit', pair);
  const value = text === 'none' ? null : Number(text);
  if (value !== null && !/^\d+$/.test(text))
    throw new CliError(`--limit ${name} must be a whole number or none, not '${text}'.`);
  const model = /^queued_tokens\.(.+)$/.exec(name)?.[1];
  if (model !== undefined) {
    const { queued_tokens: byModel, ...others } = limits;
    if (byModel === null) throw new CliError('--limit sets queued_tokens twice.');
    return { ...others, queued_tokens: withEntry('--limit', byModel ?? {}, model, value, name) };
  }
  if (name === 'queued_tokens' && value !== null)
    throw new CliError('--limit queued_tokens needs a model: queued_tokens.<model>=<n>.');
  if (!limitNames.some((known) => known === name))
    throw new CliError(`Unknown limit '${name}'.`, `Known are ${limitNames.join(', ')}.`);
  return withEntry('--limit', limits, name, value);
}

/** Limits as `requests_per_minute=100 queued_tokens.m1=5`, or ''. */
export function limitsText(limits: object | undefined): string {
  return Object.entries(limits ?? {})
    .flatMap(([name, value]: [string, unknown]) =>
      typeof value === 'object' && value !== null
        ? Object.entries(value).map(([model, count]) => `${name}.${model}=${count}`)
        : [`${name}=${String(value)}`],
    )
    .join(' ');
}
