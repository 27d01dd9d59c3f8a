import type { Clock } from '../../../base/clock.ts';
import { fieldsOf, parseOrUndefined } from '../../../base/fields.ts';
import { truncate } from '../../../base/truncate.ts';
import { ApiError } from '../../../core/errors.ts';
import type { Finding } from '../../../core/examination.ts';
import type { DirectKind } from '../../../core/model.ts';
import type { ChatChoice, ChatRequest } from '../../../wire/chat/chat.ts';
import { smallestDirect } from '../../../wire/direct/smallest.ts';
import { builtBody } from '../../../wire/json/json-body.ts';
import type { Engine, EngineCall } from '../../engines.ts';
import { AbsentError } from '../connection/status-errors.ts';
import { checkAddress, checkLog, fault, messageOf, ok, ours } from './findings.ts';

const timeoutMs = 60_000;
/** Token limit of answers with a guarantee. */
const maxTokens = 256;

const word = {
  type: 'object',
  properties: { word: { type: 'string', enum: ['yes', 'no'] } },
  required: ['word'],
  additionalProperties: false,
};

const question = 'Is water wet? Say yes or no.';

/** Minimal requests in the other formats; OpenAI refuses less than 16 tokens. */
const smallest = {
  messages: { max_tokens: 16, messages: [{ role: 'user', content: question }] },
  responses: { max_output_tokens: 16, input: question, store: false },
};

interface GuaranteeCheck {
  request: Partial<ChatRequest>;
  isMet: (choice: ChatChoice) => boolean;
  /** Finding where it is met, and where not. */
  met: string;
  unmet: string;
}

/** Examines what a server generates. @param hasServes if `serves` is configured @param upstreamMessages newest last */
export function createAnswerExaminer(
  engine: Engine,
  model: string,
  clock: Clock,
  hasServes: boolean,
  upstreamMessages: string[],
) {
  async function timed<T>(run: (call: EngineCall) => Promise<T>): Promise<{ answer: T; ms: number }> {
    const begun = clock.monotonic();
    const stop = new AbortController();
    const late = new ApiError('upstream_timeout', `It did not answer within ${timeoutMs / 1000} s.`);
    const timer = clock.after(timeoutMs, () => stop.abort(late));
    upstreamMessages.length = 0;
    try {
      const answer = await run({ signal: stop.signal, priority: 'interactive' });
      return { answer, ms: Math.round(clock.monotonic() - begun) };
    } finally {
      timer.cancel();
    }
  }

  function chatWith(more: Partial<ChatRequest>) {
    const messages: ChatRequest['messages'] = [{ role: 'user', content: question }];
    const body = builtBody<ChatRequest>({ model, messages, temperature: 0, ...more });
    return timed((call) => engine.generate(body, call));
  }

  function failure(error: unknown) {
    const reported = upstreamMessages.at(-1);
    const summary = messageOf(error) + (reported === undefined ? '' : `: ${truncate(reported, 200)}`);
    return { summary, ...adviceFor(error) };
  }

  async function chat(): Promise<Finding> {
    try {
      const { answer, ms } = await chatWith({ max_tokens: 8 });
      return ok('chat', `${answer.usage.completion_tokens} tokens in ${ms} ms`);
    } catch (error) {
      const other =
        hasServes || isAccountError(error) ? '' : ' Or set serves, for example to [embeddings] or [rerank].';
      const failed = failure(error);
      return fault('chat', { ...failed, advice: failed.advice + other });
    }
  }

  async function forcedTool(): Promise<Finding> {
    const support = engine.capabilities.forcedTool;
    if (support === 'none')
      return ours('tool call', 'cannot be forced; Offpeak requests the arguments and builds the call');
    const strict = support === 'strict' && { strict: true };
    const tool = { name: 'answer', description: 'Answers.', parameters: word, ...strict };
    return guarantee('tool call', 'forced_tool', {
      request: {
        tools: [{ type: 'function', function: tool }],
        tool_choice: support === 'filter' ? 'required' : { type: 'function', function: { name: tool.name } },
      },
      isMet({ message }) {
        const call = message.tool_calls?.[0]?.function;
        return call?.name === tool.name && isWord(call.arguments);
      },
      met: 'forced by the server',
      unmet: 'it did not make the forced call',
    });
  }

  async function jsonSchema(): Promise<Finding> {
    if (engine.capabilities.jsonSchema === 'none')
      return ours('json_schema', 'not supported; Offpeak asks for JSON in the prompt and checks it');
    const json_schema = { name: 'answer', strict: true, schema: word };
    return guarantee('json_schema', 'json_schema', {
      request: { response_format: { type: 'json_schema', json_schema } },
      isMet: ({ message }) => isWord(message.content ?? ''),
      met: 'enforced by the server',
      unmet: 'its answer does not conform',
    });
  }

  /** Checks that the server meets a guarantee that Offpeak would otherwise enforce. */
  async function guarantee(
    about: Finding['about'],
    capability: string,
    { request, isMet, met, unmet }: GuaranteeCheck,
  ): Promise<Finding> {
    const key = 'capabilities';
    const advice = `Set capabilities: { ${capability}: none }, so that Offpeak enforces it.`;
    try {
      const [choice] = (await chatWith({ max_tokens: maxTokens, ...request })).answer.choices;
      if (choice && isMet(choice)) return ok(about, met);
      if (choice?.finish_reason !== 'length') return fault(about, { summary: unmet, key, advice });
      const spent = choice.message.reasoning ? ', all spent on reasoning' : '';
      return ours(about, `unknown: its answer reached the limit of ${maxTokens} tokens${spent}`);
    } catch (error) {
      if (isUnanswered(error)) return fault(about, failure(error));
      return fault(about, { ...failure(error), key, advice });
    }
  }

  /** A request for log probabilities fails where the server ignores the field. */
  async function logprobs(): Promise<Finding> {
    const about = 'logprobs';
    try {
      const [choice] = (await chatWith({ max_tokens: 16, logprobs: true })).answer.choices;
      if (choice?.logprobs?.content?.length) return ok(about, 'in its answers');
      return ours(about, 'unknown: its answer had no text, or its flavor is not sent the field');
    } catch (error) {
      return ours(about, `none (${messageOf(error)}); requests for them fail`);
    }
  }

  async function format(about: keyof typeof smallest): Promise<Finding> {
    const isNative = engine.capabilities.formats?.[about] === 'native';
    try {
      const body = builtBody({ model, ...smallest[about] });
      const { ms } = await timed((call) => engine.native!.generate(about, body, call));
      if (isNative) return ok(about, `passed on unchanged, in ${ms} ms`);
      const instead = `set capabilities: { ${about}: native } to pass them on unchanged`;
      return ours(about, `translated, though the server supports them; ${instead}`);
    } catch (error) {
      if (!isNative) return ours(about, 'translated');
      if (isUnanswered(error)) return fault(about, failure(error));
      const advice = `Set capabilities: { ${about}: chat }, so that Offpeak translates them.`;
      return fault(about, { ...failure(error), key: 'capabilities', advice });
    }
  }

  async function completions(): Promise<Finding> {
    const about = 'completions';
    if (engine.capabilities.formats?.completions !== 'native')
      return ours(about, 'not sent to this flavor; requests for raw prompts get a 404');
    try {
      const body = builtBody({ model, prompt: 'Water is', max_tokens: 1 });
      const { ms } = await timed((call) => engine.native!.generate(about, body, call));
      return ok(about, `raw prompts, in ${ms} ms`);
    } catch (error) {
      const failed = failure(error);
      if (isUnanswered(error)) return fault(about, failed);
      const instead = 'set capabilities: { completions: none } for a clear error';
      return ours(about, `none (${failed.summary}); ${instead}`);
    }
  }

  async function direct(about: DirectKind): Promise<Finding> {
    try {
      const { request } = smallestDirect([about], model)!;
      const { answer, ms } = await timed((call) => engine.direct(about, builtBody(request), call));
      const size = 'vectors' in answer ? `${answer.vectors[0]?.length ?? 0} dimensions ` : '';
      return ok(about, `${size}in ${ms} ms`);
    } catch (error) {
      const failed = failure(error);
      if (hasServes && error instanceof ApiError && error.code === 'model_not_found')
        return fault(about, { summary: failed.summary, advice: `Remove ${about} from serves.` });
      if (hasServes || isUnanswered(error) || isAccountError(error)) return fault(about, failed);
      return ours(about, `none (${failed.summary}); set serves: [chat] for a clear error`);
    }
  }

  return {
    chat,
    direct,
    /** Findings about a server that answers chats. */
    details: async () => [
      await forcedTool(),
      await jsonSchema(),
      await logprobs(),
      await format('messages'),
      await format('responses'),
      await completions(),
    ],
  };
}

const unansweredCodes: readonly string[] = ['upstream_unreachable', 'upstream_timeout', 'engine_overloaded'];

/** True for an error without an answer, which says nothing about the server's abilities. */
function isUnanswered(error: unknown): boolean {
  return error instanceof ApiError && unansweredCodes.includes(error.code);
}

function isAccountError(error: unknown): boolean {
  return error instanceof ApiError && error.blame.scope === 'account';
}

function adviceFor(error: unknown): Pick<Finding, 'key'> & { advice: string } {
  if (!(error instanceof ApiError)) return { advice: checkLog };
  if (isAccountError(error)) return { key: 'api_key', advice: 'Check the key and the account.' };
  if (error instanceof AbsentError) return { key: 'url', advice: checkAddress };
  if (error.code === 'model_not_found') return { key: 'model', advice: checkLog };
  return { advice: error.code === 'engine_overloaded' ? 'Try again later.' : checkLog };
}

function isWord(text: string): boolean {
  const { word: answer } = fieldsOf(parseOrUndefined(text));
  return answer === 'yes' || answer === 'no';
}
