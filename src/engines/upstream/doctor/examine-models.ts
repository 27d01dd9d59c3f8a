import { truncate } from '../../../base/truncate.ts';
import { nearestWord } from '../../../base/nearest-word.ts';
import type { Finding } from '../../../core/examination.ts';
import type { Flavor } from '../../../core/flavor.ts';
import { addressOf } from '../connection/address.ts';
import { type Fields, fieldsOf, parseOrUndefined, stringOr } from '../../../base/fields.ts';
import { flavorOf } from '../flavors/find-flavor.ts';
import { type FailureRule, effectiveStatus } from '../connection/failure-rules.ts';
import { readError } from '../connection/status-errors.ts';
import { fault, ok } from './findings.ts';
import type { Reply } from '../connection/replies.ts';
import type { Transport } from '../connection/transport.ts';

/** Of a list that is too long to be told. */
const most = 8;

const never = new AbortController().signal;

interface Asking {
  url: string;
  /** The server's name of the model. */
  model: string;
  hasKey: boolean;
  /** What this kind of server tells in a way of its own. */
  failures: readonly FailureRule[] | undefined;
  transport: Pick<Transport, 'get'>;
  elapsed: () => number;
}

interface Found {
  finding: Finding;
  flavor: Flavor;
}

/** Asks a server for its models, and whether the one that is wanted is among them. */
export async function examineModels(asking: Asking): Promise<Found> {
  const { url, model, transport, elapsed } = asking;
  const address = addressOf(url, model);
  const reply = await transport.get(address.path('/models'), never);
  const { status, body } = reply;
  const ms = Math.round(elapsed());
  const listed = status === 200 ? listOf(body) : null;
  if (listed) {
    const flavor = flavorOf(listed, model);
    // It has most calls at its root too, but completions and embeddings are of its own form there.
    const isBeside = flavor === 'llama-server' && !/\/v1\/*$/.test(url);
    const better = isBeside ? await elsewhere(asking, 'it answers here in a form of its own') : null;
    return { finding: better ?? examineList(listed, model, ms), flavor };
  }
  return { finding: await refusalOf(asking, reply), flavor: 'generic' };
}

function examineList(listed: Fields, model: string, ms: number): Finding {
  const ids = (listed['data'] as unknown[]).map((each) => stringOr(fieldsOf(each)['id'], ''));
  const names = [model, `${model}:latest`, `models/${model}`];
  if (ids.some((id) => names.includes(id))) return ok('models', `${model}, in ${ms} ms`);
  if (ids.length === 0) return ok('models', `it lists none, in ${ms} ms`);
  const shown = ids.slice(0, most).join(', ') + (ids.length > most ? `, and ${ids.length - most} more` : '');
  if (flavorOf(listed, model) === 'llama-server')
    return ok('models', `it has ${shown}, and answers to any name, in ${ms} ms`);
  const nearest = nearestWord(model, ids);
  return fault('models', {
    key: 'model',
    told: `it has no model '${model}'; it has ${shown}`,
    advice: nearest ? `Did you mean '${nearest}'?` : 'Name one of them.',
  });
}

async function refusalOf(asking: Asking, { status, headers, body }: Reply<Buffer>): Promise<Finding> {
  const { url, hasKey, failures } = asking;
  const said = readError(body.toString());
  const meant = effectiveStatus({ ...said, status }, failures);
  if (meant === 401 || meant === 403)
    return fault('models', {
      key: 'api_key',
      told: hasKey ? `it refuses the key (status ${status})` : `it wants a key (status ${status})`,
      advice: hasKey ? 'Set another one.' : 'Set api_key.',
    });
  if (headers.location !== undefined && status >= 300 && status < 400) {
    const { href } = new URL(headers.location, url);
    const told = `it points to ${href} (status ${status}), where nothing follows it`;
    const base = href.replace(/\/models\/?$/, '');
    return fault('models', { key: 'url', told, advice: base === href ? askAddress : `Write ${base}.` });
  }
  if (status !== 200 && status !== 404 && status !== 405) {
    const words = said.message === '' ? '' : `: ${truncate(said.message, 200)}`;
    const advice = meant === 402 ? 'See to the account: it has no credit.' : 'See its log.';
    return fault('models', { told: `it answers with status ${status}${words}`, advice });
  }
  const better = await elsewhere(asking, 'there is no API at this address');
  if (better || status !== 200)
    return better ?? ok('models', `it lists none (status ${status}), so ask it for a chat`);
  const what = body.toString().trimStart().startsWith('<') ? 'an HTML page' : 'something else';
  return fault('models', {
    key: 'url',
    told: `it answers with ${what} where models are listed`,
    advice: askAddress,
  });
}

export const askAddress = 'Is the address right?';

/** `told`, where the API that was looked for at `url` stands at another address; null where it is not found. */
async function elsewhere({ url, model, transport }: Asking, told: string): Promise<Finding | null> {
  const base = url.replace(/\/+$/, '').replace(/\/(?:chat\/completions|completions|embeddings|models)$/, '');
  const { origin } = new URL(url);
  for (const candidate of new Set([base, `${base}/v1`, `${origin}/v1`])) {
    if (candidate === url.replace(/\/+$/, '')) continue;
    const { status, body } = await transport.get(addressOf(candidate, model).path('/models'), never);
    if (status === 401 || (status === 200 && listOf(body)))
      return fault('models', { key: 'url', told, advice: `Write ${candidate}.` });
  }
  return null;
}

function listOf(body: Buffer): Fields | null {
  const told = parseOrUndefined(body.toString());
  const fields = Array.isArray(told) ? { data: told } : fieldsOf(told);
  return Array.isArray(fields['data']) ? fields : null;
}
