import { type Fields, fieldsOf, parseOrUndefined, stringOr } from '../../../base/fields.ts';
import { nearestWord } from '../../../base/nearest-word.ts';
import { truncate } from '../../../base/truncate.ts';
import type { Finding } from '../../../core/examination.ts';
import type { Flavor } from '../../../core/flavor.ts';
import { addressOf } from '../connection/address.ts';
import { effectiveStatus, type FailureRule } from '../connection/failure-rules.ts';
import type { Reply } from '../connection/replies.ts';
import { readError } from '../connection/status-errors.ts';
import type { Transport } from '../connection/transport.ts';
import { flavorOf } from '../flavors/find-flavor.ts';
import { checkAddress, checkLog, fault, ok } from './findings.ts';

/** Models shown of a long list. */
const maxShown = 8;

const never = new AbortController().signal;

interface ModelsOptions {
  url: string;
  /** The server's name of the model. */
  model: string;
  hasKey: boolean;
  /** Failures of this flavor. */
  failures: readonly FailureRule[] | undefined;
  transport: Pick<Transport, 'get'>;
  elapsed: () => number;
}

/** Lists the models of a server and checks that the configured one is among them. */
export async function examineModels(options: ModelsOptions): Promise<{ finding: Finding; flavor: Flavor }> {
  const { url, model, transport, elapsed } = options;
  const reply = await transport.get(addressOf(url, model).path('/models'), never);
  const ms = Math.round(elapsed());
  const list = reply.status === 200 ? listIn(reply.body) : null;
  if (!list) return { finding: await explainRefusal(options, reply), flavor: 'generic' };
  const flavor = flavorOf(list, model);
  // Most of its calls exist at its root too, but completions and embeddings have its own format there.
  const isOutside = flavor === 'llama-server' && !/\/v1\/*$/.test(url);
  const better = isOutside ? await findElsewhere(options, 'it answers here in its own format') : null;
  return { finding: better ?? examineList(list, model, ms), flavor };
}

function examineList(list: Fields, model: string, ms: number): Finding {
  const entries = (list['data'] as unknown[]).map(fieldsOf);
  const ids = entries.map(({ id }) => stringOr(id, ''));
  const names = [model, `${model}:latest`, `models/${model}`];
  const isAlias = entries.some(({ aliases }) => Array.isArray(aliases) && aliases.includes(model));
  if (isAlias || ids.some((id) => names.includes(id))) return ok('models', `${model}, in ${ms} ms`);
  if (ids.length === 0) return ok('models', `none listed, in ${ms} ms`);
  const more = ids.length > maxShown ? `, and ${ids.length - maxShown} more` : '';
  const shown = ids.slice(0, maxShown).join(', ') + more;
  if (flavorOf(list, model) === 'llama-server')
    return ok('models', `${shown}; answers to any name, in ${ms} ms`);
  const nearest = nearestWord(model, ids);
  return fault('models', {
    key: 'model',
    summary: `it has no model '${model}'; it has ${shown}`,
    advice: nearest ? `Did you mean '${nearest}'?` : 'Use one of them.',
  });
}

async function explainRefusal(options: ModelsOptions, { status, headers, body }: Reply<Buffer>) {
  const { url, hasKey, failures } = options;
  const error = readError(body.toString());
  const meant = effectiveStatus({ ...error, status }, failures);
  if (meant === 401 || meant === 403)
    return fault('models', {
      key: 'api_key',
      summary: hasKey ? `it refuses the key (status ${status})` : `it requires a key (status ${status})`,
      advice: hasKey ? 'Set a valid key.' : 'Set api_key.',
    });
  if (headers.location !== undefined && status >= 300 && status < 400) {
    const { href } = new URL(headers.location, url);
    const summary = `it redirects to ${href} (status ${status}), which Offpeak does not follow`;
    const base = href.replace(/\/models\/?$/, '');
    return fault('models', { key: 'url', summary, advice: base === href ? checkAddress : `Use ${base}.` });
  }
  if (status !== 200 && status !== 404 && status !== 405) {
    const words = error.message === '' ? '' : `: ${truncate(error.message, 200)}`;
    const advice = meant === 402 ? 'Top up the account: it has no credit.' : checkLog;
    return fault('models', { summary: `it answers with status ${status}${words}`, advice });
  }
  const better = await findElsewhere(options, 'there is no API at this address');
  if (better || status !== 200) return better ?? ok('models', `no list (status ${status})`);
  const what = body.toString().trimStart().startsWith('<') ? 'an HTML page' : 'something else';
  const summary = `it answers with ${what} instead of a list of models`;
  return fault('models', { key: 'url', summary, advice: checkAddress });
}

/** Finds the API at another address; null if there is none. @param summary the fault of the configured one */
async function findElsewhere({ url, model, transport }: ModelsOptions, summary: string) {
  const base = url.replace(/\/+$/, '').replace(/\/(?:chat\/completions|completions|embeddings|models)$/, '');
  const { origin } = new URL(url);
  for (const candidate of new Set([base, `${base}/v1`, `${origin}/v1`])) {
    if (candidate === url.replace(/\/+$/, '')) continue;
    const { status, body } = await transport.get(addressOf(candidate, model).path('/models'), never);
    if (status === 401 || (status === 200 && listIn(body)))
      return fault('models', { key: 'url', summary, advice: `Use ${candidate}.` });
  }
  return null;
}

function listIn(body: Buffer): Fields | null {
  const value = parseOrUndefined(body.toString());
  const fields = Array.isArray(value) ? { data: value } : fieldsOf(value);
  return Array.isArray(fields['data']) ? fields : null;
}
