import { type Fields, fieldsOf, isObject, parseOrUndefined, stringOr } from '../../../base/fields.ts';
import type { ApiError } from '../../../core/errors.ts';
import { type ModelInput, modelInputs } from '../../../core/model.ts';
import type { ProbeReport } from '../../engines.ts';
import { count } from '../answer/usage-figures.ts';
import type { Address } from '../connection/address.ts';
import { unusable } from '../connection/parse-body.ts';
import type { Reply } from '../connection/replies.ts';
import { noModel } from '../connection/status-errors.ts';
import { modelsIn } from '../flavors/find-flavor.ts';
import type { ReportSource } from '../flavors/traits.ts';

export interface ReportDeps {
  /** The upstream's name of the model. */
  model: string;
  /** True where a model that is not listed does not exist. */
  listsAll: boolean;
  address: Address;
  get: (path: string) => Promise<Reply<Buffer>>;
  post: (path: string, body: unknown) => Promise<Reply<Buffer>>;
  /** Error for a status other than 200. */
  refusal: (reply: Reply<Buffer>) => ApiError;
}

/** They throw the `ApiError` that a request would meet, for example for an unreachable server or an unknown model. */
export const fetchReport: Record<ReportSource, (deps: ReportDeps) => Promise<ProbeReport>> = {
  models: fromModels,
  vllm: (deps) => withQueue(deps, 'vllm:num_requests_waiting'),
  sglang: (deps) => withQueue(deps, 'sglang:num_queue_reqs'),

  async props(deps) {
    // Unlike /v1/models, it is not answered while the model loads or without a key.
    const reply = await deps.get(deps.address.rootPath('/props'));
    if (isMissing(reply)) return fromModels(deps);
    const { total_slots, default_generation_settings, modalities, is_sleeping } = objectIn(reply, deps);
    return {
      slots: positive(total_slots),
      // Not needed, because the slots are known.
      queued: null,
      // Both came with the last versions of 2025.
      hasMessages: typeof is_sleeping === 'boolean',
      contextLength: positive(fieldsOf(default_generation_settings)['n_ctx']),
      inputs: isObject(modalities)
        ? inputsIn(Object.keys(modalities).filter((key) => modalities[key]))
        : null,
    };
  },

  async show(deps) {
    const { address, model } = deps;
    const [shown, running] = await Promise.all([
      deps.post(address.rootPath('/api/show'), { model }),
      deps.get(address.rootPath('/api/ps')).catch(() => undefined),
    ]);
    if (isMissing(shown) && deps.refusal(shown).code !== 'model_not_found') return fromModels(deps);
    const { capabilities, model_info, parameters } = objectIn(shown, deps);
    const abilities = Array.isArray(capabilities) ? capabilities : null;
    return {
      slots: null,
      queued: null,
      contextLength:
        (running?.status === 200 ? runningContext(parse(running.body), model) : null) ??
        positive(Number(/^num_ctx\s+(\d+)$/m.exec(stringOr(parameters, ''))?.[1])) ??
        trainedContext(fieldsOf(model_info)),
      inputs: abilities && inputsIn(abilities),
      thinking: abilities && abilities.includes('thinking'),
      tools: abilities && abilities.includes('tools'),
    };
  },
};

async function fromModels(deps: ReportDeps): Promise<ProbeReport> {
  const list = objectIn(await deps.get(deps.address.path('/models')), deps);
  const entries = modelsIn(list);
  const named = entries.find(
    ({ id, aliases }) => id === deps.model || (Array.isArray(aliases) && aliases.includes(deps.model)),
  );
  const isEmpty = !Array.isArray(list['data']) || list['data'].length === 0;
  if (!named && deps.listsAll && !isEmpty && list['has_more'] !== true) throw noModel('(it is not listed).');
  const entry = named ?? (entries.length === 1 ? entries[0] : undefined);
  if (!entry) return { slots: null, queued: null };
  const { input_modalities } = fieldsOf(entry['architecture']);
  const lengths = contextNames.map((name) => positive(entry[name]));
  return {
    slots: entry['owned_by'] === 'offpeak' ? positive(entry['slots']) : null,
    queued: null,
    contextLength: lengths.find((length) => length !== null) ?? null,
    inputs: Array.isArray(input_modalities) ? inputsIn(input_modalities) : null,
  };
}

/** vLLM and SGLang, OpenRouter, Groq, Mistral. */
const contextNames = ['max_model_len', 'context_length', 'context_window', 'max_context_length'];

async function withQueue(deps: ReportDeps, gauge: string): Promise<ProbeReport> {
  const [report, metrics] = await Promise.all([
    fromModels(deps),
    deps.get(deps.address.rootPath('/metrics')).catch(() => undefined),
  ]);
  return { ...report, queued: metrics?.status === 200 ? gaugeOf(metrics.body, gauge) : null };
}

/** Sum of a gauge on a Prometheus page; null if missing. Only its own lines are decoded: a page may have a megabyte. */
export function gaugeOf(page: Buffer, name: string): number | null {
  let sum: number | null = null;
  for (let at = page.indexOf(name); at >= 0; at = page.indexOf(name, at + name.length)) {
    if (at > 0 && page[at - 1] !== newline) continue;
    const end = page.indexOf(newline, at);
    const rest = page.toString('utf8', at + name.length, end < 0 ? page.length : end);
    // Skips gauges whose longer name starts with this one.
    if (!/^[{ ]/.test(rest)) continue;
    const value = Number.parseFloat(rest.slice(rest.lastIndexOf('}') + 1));
    if (Number.isFinite(value) && value >= 0) sum = (sum ?? 0) + value;
  }
  return sum;
}

const newline = 0x0a;

function runningContext({ models }: Fields, model: string): number | null {
  const running = Array.isArray(models) ? models.map(fieldsOf) : [];
  const names = [model, `${model}:latest`];
  return positive(running.find(({ name }) => names.includes(stringOr(name, '')))?.['context_length']);
}

/** `llama.context_length`, by the architecture's name. */
function trainedContext(info: Fields): number | null {
  return positive(info[`${stringOr(info['general.architecture'], '')}.context_length`]);
}

const inputNames: Readonly<Record<string, ModelInput>> = { vision: 'image' };

function inputsIn(words: readonly unknown[]): ModelInput[] {
  const named = words.map((word) => inputNames[String(word)] ?? word);
  return modelInputs.filter((input) => named.includes(input));
}

function positive(value: unknown): number | null {
  return count(value) || null;
}

function isMissing({ status }: Reply<Buffer>): boolean {
  return status === 404 || status === 405 || status === 501;
}

/** JSON of any other form counts as empty. Text that is not JSON, such as a catch-all page, is no API. */
function objectIn(reply: Reply<Buffer>, { refusal }: ReportDeps): Fields {
  if (reply.status !== 200) throw refusal(reply);
  const value = parseOrUndefined(reply.body.toString());
  if (value === undefined) throw unusable('is not JSON');
  return fieldsOf(value);
}

function parse(body: Buffer): Fields {
  return fieldsOf(parseOrUndefined(body.toString()));
}
