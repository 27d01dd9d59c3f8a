import { truncate } from '../../../base/truncate.ts';
import { fieldsOf, parseOrUndefined } from '../../../base/fields.ts';
import { silent } from '../../../base/log.ts';
import { ApiError } from '../../../core/errors.ts';
import type { Examination, Finding } from '../../../core/examination.ts';
import type { AssistantMessage, ChatChoice, ChatRequest } from '../../../wire/chat/chat.ts';
import { builtBody } from '../../../wire/json/json-body.ts';
import type { Engine, EngineCall } from '../../engines.ts';
import { addressOf } from '../connection/address.ts';
import { examineLogprobs } from './examine-logprobs.ts';
import { fault, ok, ours } from './findings.ts';
import { examineConnection, findHttps } from './examine-connection.ts';
import { askAddress, examineModels } from './examine-models.ts';
import { AbsentError } from '../connection/status-errors.ts';
import { countTimeouts } from '../probe/count-tokens.ts';
import { headersOf, traitsOf } from '../flavors/flavors.ts';
import { createTransport } from '../connection/transport.ts';
import { createUpstreamEngine } from '../upstream.ts';
import type { UpstreamOptions } from '../upstream-options.ts';

export interface Examining {
  /** Whether it may be given work, which takes time and may cost money. */
  generates: boolean;
}

/** A slow server is not waited for longer. */
const patienceMs = 60_000;
/** Tokens that an answer of a promise may have. */
const limit = 256;

const word = {
  type: 'object',
  properties: { word: { type: 'string', enum: ['yes', 'no'] } },
  required: ['word'],
  additionalProperties: false,
};

const question = 'Is water wet? Say yes or no.';

/** In the other formats; less than 16 tokens are refused by OpenAI. */
const smallest = {
  messages: { max_tokens: 16, messages: [{ role: 'user', content: question }] },
  responses: { max_output_tokens: 16, input: question, store: false },
};

/** Asks a server what it can do, with as little work as tells. */
export async function examineUpstream(
  options: Omit<UpstreamOptions, 'log'>,
  { generates }: Examining,
): Promise<Examination> {
  const { url, model, clock, ca, slots } = options;
  const isServesTold = options.serves !== undefined;
  const connecting = { url, ca, clock, connectMs: options.timeouts?.connectMs ?? 5000 };
  const findings: Finding[] = [];
  const found = (flavor: string, isReachable: boolean) => ({ flavor, isReachable, findings });
  const begin = () => {
    const from = clock.monotonic();
    return () => clock.monotonic() - from;
  };
  const add = (finding: Finding) => {
    findings.push(finding);
    return finding.verdict !== 'fault';
  };
  if (!add(await examineConnection(connecting))) return found('unknown', false);

  const transport = createTransport({
    origin: addressOf(url, model).origin,
    ca,
    headers: headersOf(options),
    connections: 1,
    timeouts: { ...countTimeouts, connectMs: connecting.connectMs },
    clock,
  });
  let flavor: string = options.flavor ?? 'generic';
  try {
    const hasKey = Boolean(options.apiKey);
    const failures = traitsOf(options).failures;
    const asked = await examineModels({ url, model, hasKey, failures, transport, elapsed: begin() });
    if (flavor === 'auto') flavor = asked.flavor;
    if (!add(asked.finding)) {
      const https = asked.finding.key === undefined ? await findHttps(connecting) : null;
      if (https) findings.splice(0, findings.length, https);
      return found(flavor, https === null);
    }
  } catch (error) {
    const https = await findHttps(connecting);
    if (https) findings.splice(0, findings.length, https);
    else add(fault('models', { told: textOf(error), advice: 'See its log.' }));
    return found(flavor, false);
  } finally {
    await transport.close();
  }

  const said: string[] = [];
  const note = (fields: object) => {
    if ('said' in fields && typeof fields.said === 'string' && fields.said !== '') said.push(fields.said);
  };
  const engine = createUpstreamEngine({ ...options, log: { ...silent, warn: note } });
  try {
    await engine.start();
    add(await examineSlots());
    if (!generates) return found(flavor, true);
    const { serves } = engine.capabilities;
    if (serves.includes('chat') && add(await examineChat()))
      findings.push(
        await examineTool(),
        await examineSchema(),
        await examineLogprobs((more) => ask(engine, more)),
        await examineFormat('messages'),
        await examineFormat('responses'),
        await examineCompletions(),
      );
    if (serves.includes('embeddings')) add(await examineEmbeddings());
  } finally {
    await engine.stop();
  }
  return found(flavor, true);

  async function examineSlots(): Promise<Finding> {
    if (slots !== null) return ok('slots', `${slots}, as configured`);
    const told = (await engine.probe().catch(() => null))?.slots ?? null;
    if (told !== null) return ok('slots', `${told}, as it says itself`);
    return ours('slots', 'it does not say; they are found out while it works');
  }

  async function examineChat(): Promise<Finding> {
    const elapsed = begin();
    try {
      const { usage } = await ask(engine, { max_tokens: 8 });
      return ok('chat', `${usage.completion_tokens} tokens in ${Math.round(elapsed())} ms`);
    } catch (error) {
      const other = isServesTold || isOfAccount(error) ? '' : ' Or write serves: [embeddings].';
      const advice = adviceFor(error) + other;
      return fault('chat', { ...failure(error), advice });
    }
  }

  async function examineTool(): Promise<Finding> {
    const mean = engine.capabilities.forcedTool;
    if (mean === 'none')
      return ours('tool call', 'it forces none; Offpeak asks for the arguments and makes the call');
    const strict = mean === 'strict' && { strict: true };
    const tool = { name: 'answer', description: 'Answers.', parameters: word, ...strict };
    return examinePromise('tool call', 'forced_tool', 'forced by itself', {
      asked: {
        tools: [{ type: 'function', function: tool }],
        tool_choice: mean === 'filter' ? 'required' : { type: 'function', function: { name: tool.name } },
      },
      isKept({ message }) {
        const call = message.tool_calls?.[0]?.function;
        return call?.name === tool.name && isWord(call.arguments);
      },
      unmet: 'it did not make the call that it was told to make',
    });
  }

  async function examineSchema(): Promise<Finding> {
    if (engine.capabilities.jsonSchema === 'none')
      return ours('json_schema', 'it knows none; Offpeak asks for JSON in words and checks it');
    const json_schema = { name: 'answer', strict: true, schema: word };
    return examinePromise('json_schema', 'json_schema', 'held by itself', {
      asked: { response_format: { type: 'json_schema', json_schema } },
      isKept: ({ message }) => isWord(message.content ?? ''),
      unmet: 'its answer does not conform',
    });
  }

  /** Whether it keeps by itself what else Offpeak sees to. */
  async function examinePromise(
    about: Finding['about'],
    capability: string,
    kept: string,
    { asked, isKept, unmet }: PromiseAsked,
  ): Promise<Finding> {
    const key = 'capabilities';
    const advice = `Write capabilities: { ${capability}: none }, then Offpeak sees to it.`;
    try {
      const [choice] = (await ask(engine, { max_tokens: limit, ...asked })).choices;
      if (choice && isKept(choice)) return ok(about, kept);
      if (choice?.finish_reason === 'length') return ours(about, cut(choice.message));
      return fault(about, { told: unmet, key, advice });
    } catch (error) {
      if (isLost(error)) return fault(about, { ...failure(error), advice: adviceFor(error) });
      return fault(about, { ...failure(error), key, advice });
    }
  }

  /** The reason for which nothing is known of an answer that reached its limit. */
  function cut({ reasoning }: AssistantMessage): string {
    const spent = reasoning ? ', all of them spent on thinking' : '';
    return `not known: its answer was cut at the ${limit} tokens that it was given${spent}`;
  }

  /** Whether requests could go on as their clients write them. */
  async function examineFormat(about: keyof typeof smallest): Promise<Finding> {
    const isNative = engine.capabilities.formats?.[about] === 'native';
    const elapsed = begin();
    try {
      const body = builtBody({ model, ...smallest[about] });
      await within((call) => engine.native!.generate(about, body, call));
      if (isNative) return ok(about, `as clients write them, in ${Math.round(elapsed())} ms`);
      const instead = `write capabilities: { ${about}: native } to pass them on as they come`;
      return ours(about, `translated, though it takes them itself; ${instead}`);
    } catch (error) {
      if (!isNative) return ours(about, 'translated');
      if (isLost(error)) return fault(about, { ...failure(error), advice: adviceFor(error) });
      const advice = `Write capabilities: { ${about}: chat }, then Offpeak translates them.`;
      return fault(about, { ...failure(error), key: 'capabilities', advice });
    }
  }

  async function examineCompletions(): Promise<Finding> {
    const about = 'completions';
    if (engine.capabilities.formats?.completions !== 'native')
      return ours(about, 'not asked for any; requests for raw prompts are answered 404');
    const elapsed = begin();
    try {
      const body = builtBody({ model, prompt: 'Water is', max_tokens: 1 });
      await within((call) => engine.native!.generate(about, body, call));
      return ok(about, `raw prompts too, in ${Math.round(elapsed())} ms`);
    } catch (error) {
      const failed = failure(error);
      if (isLost(error)) return fault(about, { ...failed, advice: adviceFor(error) });
      const instead = 'write capabilities: { completions: none } so that requests are told';
      return ours(about, `none (${failed.told}); ${instead}`);
    }
  }

  async function examineEmbeddings(): Promise<Finding> {
    const about = 'embeddings';
    const elapsed = begin();
    try {
      const body = builtBody({ model, input: 'yes' });
      const { vectors } = await within((call) => engine.embed(body, call));
      return ok(about, `${vectors[0]?.length ?? 0} numbers in ${Math.round(elapsed())} ms`);
    } catch (error) {
      const failed = failure(error);
      if (isServesTold || isLost(error) || isOfAccount(error))
        return fault(about, { ...failed, advice: adviceFor(error) });
      return ours(about, `none (${failed.told}); write serves: [chat] so that requests are told`);
    }
  }

  function ask(of: Engine, more: Partial<ChatRequest>) {
    const messages: ChatRequest['messages'] = [{ role: 'user', content: question }];
    const body = builtBody<ChatRequest>({ model, messages, temperature: 0, ...more });
    return within((call) => of.generate(body, call));
  }

  async function within<T>(run: (call: EngineCall) => Promise<T>): Promise<T> {
    const stop = new AbortController();
    const late = new ApiError('upstream_timeout', `It did not answer within ${patienceMs / 1000} s.`);
    const timer = clock.after(patienceMs, () => stop.abort(late));
    said.length = 0;
    try {
      return await run({ signal: stop.signal, priority: 'interactive' });
    } finally {
      timer.cancel();
    }
  }

  function failure(error: unknown): Pick<Finding, 'told' | 'key'> {
    const words = said.at(-1);
    const told = textOf(error) + (words === undefined ? '' : `: ${truncate(words, 200)}`);
    if (!(error instanceof ApiError)) return { told };
    if (isOfAccount(error)) return { told, key: 'api_key' };
    if (error instanceof AbsentError) return { told, key: 'url' };
    return error.code === 'model_not_found' ? { told, key: 'model' } : { told };
  }
}

interface PromiseAsked {
  asked: Partial<ChatRequest>;
  isKept: (choice: ChatChoice) => boolean;
  /** What is told where it is not. */
  unmet: string;
}

/** Whether there was no answer: that tells nothing of what the server can do. */
function isLost(error: unknown): boolean {
  return error instanceof ApiError && lost.includes(error.code);
}

/** Whether it was about the key, and nothing that was asked. */
function isOfAccount(error: unknown): boolean {
  return error instanceof ApiError && error.blame.scope === 'account';
}

const lost: readonly string[] = ['upstream_unreachable', 'upstream_timeout', 'engine_overloaded'];

function adviceFor(error: unknown): string {
  if (!(error instanceof ApiError)) return 'See its log.';
  if (isOfAccount(error)) return 'Check the key and the account.';
  if (error instanceof AbsentError) return askAddress;
  return error.code === 'engine_overloaded' ? 'Try again later.' : 'See its log.';
}

function textOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
}

function isWord(text: string): boolean {
  const { word: said } = fieldsOf(parseOrUndefined(text));
  return said === 'yes' || said === 'no';
}
