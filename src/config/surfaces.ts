import { type Config, surfaceNames } from '../core/config.ts';
import { configKeys } from './keys.ts';
import type { Checker, SourceValue } from './source-value.ts';

/** First segments of the server's other paths. */
const taken = ['v1', 'console', 'docs', 'healthz', 'readyz', 'openapi.json', 'llms.txt'];

/** Reads the prefix of each compatible surface; `false` closes one. */
export function surfaces(at: SourceValue | undefined, check: Checker): Config['surfaces'] {
  const fields = check.object(at, configKeys.surfaces);
  const [openai, anthropic] = surfaceNames.map((name) => {
    const field = fields[name];
    return field?.value === false ? null : (prefix(field, check) ?? `/${name}`);
  });
  const field = fields.anthropic ?? fields.openai;
  if (field && openai !== null && openai === anthropic)
    check.fail(field, 'is the prefix of both surfaces', 'Name another prefix, or false.');
  return { openai: openai!, anthropic: anthropic! };
}

function prefix(field: SourceValue | undefined, check: Checker): string | undefined {
  if (field === undefined) return undefined;
  const hint = 'For example /openai; false closes the surface.';
  if (typeof field.value !== 'string') return check.fail(field, 'expected a path or false', hint);
  if (!/^(\/[\w.~-]+)+$/.test(field.value))
    return check.fail(field, 'must be a path that begins with a slash and ends without one', hint);
  const first = field.value.split('/')[1]!;
  if (taken.includes(first)) return check.fail(field, `must not begin with /${first}, which is taken`, hint);
  return field.value;
}
