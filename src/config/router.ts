import { routerKinds, type Router } from '../core/router.ts';
import { omitUndefined } from './context.ts';
import { headerName } from './headers.ts';
import { configKeys } from './keys.ts';
import type { Checker, SourceValue } from './source-value.ts';

/** Names that versions of llm-d read: since May 2026, and before. Each ignores the other. */
const llmd = {
  objectiveHeaders: ['x-llm-d-inference-objective', 'x-gateway-inference-objective'],
  fairnessHeaders: ['x-llm-d-inference-fairness-id', 'x-gateway-inference-fairness-id'],
};
const none = { objectiveHeaders: [], fairnessHeaders: [] };

/** A kind of router, or an object with its kind, its headers and the objectives. */
export function routerOf(at: SourceValue, check: Checker): Router | undefined {
  const fields = at.value instanceof Map ? check.object(at, configKeys.router) : { kind: at };
  if (fields.kind === undefined) return check.fail(at, 'needs a kind', `One of ${routerKinds.join(', ')}.`);
  const kind = check.choice(fields.kind, routerKinds);
  if (kind === undefined) return undefined;
  const usual = kind === 'llm-d' ? llmd : none;
  const names = (list: SourceValue | undefined) =>
    check.list(list)?.flatMap((each) => headerName(each, check) ?? []);
  const router: Router = {
    kind,
    objectiveHeaders: names(fields.objective_headers) ?? usual.objectiveHeaders,
    fairnessHeaders: names(fields.fairness_headers) ?? usual.fairnessHeaders,
    objectives: omitUndefined({
      interactive: word(fields.interactive, check),
      batch: word(fields.batch, check),
    }),
  };
  const named = fields.interactive ?? fields.batch;
  if (named && router.objectiveHeaders.length === 0)
    check.fail(named, `a router of kind ${kind} reads no objective`, 'Name its objective_headers.');
  return router;
}

function word(at: SourceValue | undefined, check: Checker): string | undefined {
  const found = check.text(at);
  if (found === undefined || /^[\x21-\x7e]+$/.test(found)) return found;
  return check.fail(at!, 'must be a name without spaces, such as that of an InferenceObjective');
}
