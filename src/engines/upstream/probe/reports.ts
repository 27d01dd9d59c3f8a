import { type ModelInput, modelInputs } from '../../../core/model.ts';
import type { ApiError } from '../../../core/errors.ts';
import type { ProbeReport } from '../../engines.ts';
import type { Address } from '../connection/address.ts';
import { type Fields, fieldsOf, isObject, parseOrUndefined, stringOr } from '../../../base/fields.ts';
import { modelsIn } from '../flavors/find-flavor.ts';
import type { ReportSource } from '../flavors/traits.ts';
import { noModel } from '../connection/status-errors.ts';
import type { Reply } from '../connection/replies.ts';
import { unusable } from '../connection/parse-body.ts';
import { count } from '../answer/usage-figures.ts';

export interface QuestionDeps {
  /** The upstream's name of the model. */
  model: string;
  /** Whether a model that it does not list is not there. */
  listsAll: boolean;
  address: Address;
  get: (path: string) => Promise<Reply<Buffer>>;
  post: (path: string, body: unknown) => Promise<Reply<Buffer>>;
  /** What a status other than 200 means. */
  refusal: (reply: Reply<Buffer>) => ApiError;
}

/** @throws ApiError when the server is away or does not know us or the model, as a request would find it */
export function askHowItIs(way: ReportSource, parts: QuestionDeps): Promise<ProbeReport> {
  return ways[way](parts);
}

const ways: Record<ReportSource, (parts: QuestionDeps) => Promise<ProbeReport>> = {
  models: ofModels,

  vllm: (parts) => withQueue(parts, 'vllm:num_requests_waiting'),
  sglang: (parts) => withQueue(parts, 'sglang:num_queue_reqs'),

  async props(parts) {
    // It answers /v1/models while it loads, and whoever asks.
    const reply = await parts.get(parts.address.rootPath('/props'));
    if (isMissing(reply)) return ofModels(parts);
    const { total_slots, default_generation_settings, modalities, is_sleeping } = objectOf(reply, parts);
    return {
      slots: positive(total_slots),
      // It need not be known, since the slots are.
      queued: null,
      // Both came with the last versions of 2025.
      hasMessages: typeof is_sleeping === 'boolean',
      contextLength: positive(fieldsOf(default_generation_settings)['n_ctx']),
      inputs: isObject(modalities)
        ? inputsOf(Object.keys(modalities).filter((key) => modalities[key]))
        : null,
    };
  },

  async show(parts) {
    const { address, model } = parts;
    const [shown, running] = await Promise.all([
      parts.post(address.rootPath('/api/show'), { model }),
      parts.get(address.rootPath('/api/ps')).catch(() => undefined),
    ]);
    if (isMissing(shown) && parts.refusal(shown).code !== 'model_not_found') return ofModels(parts);
    const { capabilities, model_info, parameters } = objectOf(shown, parts);
    const able = Array.isArray(capabilities) ? capabilities : null;
    return {
      slots: null,
      queued: null,
      contextLength:
        (running?.status === 200 ? runningContext(parse(running.body), model) : null) ??
        positive(Number(/^num_ctx\s+(\d+)$/m.exec(stringOr(parameters, ''))?.[1])) ??
        trainedContext(fieldsOf(model_info)),
      inputs: able && inputsOf(able),
      thinking: able && able.includes('thinking'),
      tools: able && able.includes('tools'),
    };
  },
};

async function ofModels(parts: QuestionDeps): Promise<ProbeReport> {
  const list = objectOf(await parts.get(parts.address.path('/models')), parts);
  const entries = modelsIn(list);
  const named = entries.find(
    ({ id, aliases }) => id === parts.model || (Array.isArray(aliases) && aliases.includes(parts.model)),
  );
  if (!named && parts.listsAll && !isEmpty(list) && list['has_more'] !== true)
    throw noModel('(it is not listed).');
  const entry = named ?? (entries.length === 1 ? entries[0] : undefined);
  if (!entry) return { slots: null, queued: null };
  const { input_modalities } = fieldsOf(entry['architecture']);
  const lengths = contextNames.map((name) => positive(entry[name]));
  return {
    slots: entry['owned_by'] === 'offpeak' ? positive(entry['slots']) : null,
    queued: null,
    contextLength: lengths.find((length) => length !== null) ?? null,
    inputs: Array.isArray(input_modalities) ? inputsOf(input_modalities) : null,
  };
}

function isEmpty({ data }: Fields): boolean {
  return !Array.isArray(data) || data.length === 0;
}

/** vLLM and SGLang, OpenRouter, Groq, Mistral. */
const contextNames = ['max_model_len', 'context_length', 'context_window', 'max_context_length'];

async function withQueue(parts: QuestionDeps, name: string): Promise<ProbeReport> {
  const [report, metrics] = await Promise.all([
    ofModels(parts),
    parts.get(parts.address.rootPath('/metrics')).catch(() => undefined),
  ]);
  return { ...report, queued: metrics?.status === 200 ? gaugeOf(metrics.body, name) : null };
}

/**
 * A gauge of a Prometheus page, summed over its labels; null where it is not there. The page may have a megabyte and is
 * asked for each second: nothing but the lines of this gauge is read.
 */
export function gaugeOf(page: Buffer, name: string): number | null {
  let sum: number | null = null;
  for (let at = page.indexOf(name); at >= 0; at = page.indexOf(name, at + name.length)) {
    if (at > 0 && page[at - 1] !== newline) continue;
    const end = page.indexOf(newline, at);
    const rest = page.toString('utf8', at + name.length, end < 0 ? page.length : end);
    // A longer name begins with the same words.
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

function inputsOf(words: readonly unknown[]): ModelInput[] {
  const given = words.map((word) => inputNames[String(word)] ?? word);
  return modelInputs.filter((input) => given.includes(input));
}

function positive(value: unknown): number | null {
  return count(value) || null;
}

function isMissing({ status }: Reply<Buffer>): boolean {
  return status === 404 || status === 405 || status === 501;
}

/** JSON of another form tells nothing. What is none, such as a page that stands for all that is asked, is no sign of an API. */
function objectOf(reply: Reply<Buffer>, { refusal }: QuestionDeps): Fields {
  if (reply.status !== 200) throw refusal(reply);
  const told = parseOrUndefined(reply.body.toString());
  if (told === undefined) throw unusable('is no JSON');
  return fieldsOf(told);
}

function parse(body: Buffer): Fields {
  return fieldsOf(parseOrUndefined(body.toString()));
}
