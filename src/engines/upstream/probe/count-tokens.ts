import { type Fields, fieldsOf, stringOr } from '../../../base/fields.ts';
import type { ChatRequest } from '../../../wire/chat/chat.ts';
import { count } from '../answer/usage-figures.ts';
import type { Reply } from '../connection/replies.ts';
import type { TokenCounter } from '../flavors/traits.ts';

/** Timeouts of probes. They are short, because counts can be estimated. */
export const probeTimeouts = { connectMs: 1_000, firstByteMs: 3_000, idleMs: 3_000, totalMs: 3_000 };

/** Approximate tokens that a chat template adds to each message. */
const tokensPerMessage = 4;

/**
 * Counts the tokens of requests as sent, by the first method that the server has. Missing ones are not tried again.
 * @param post posts JSON to a path below the server's root, without `/v1`
 * @returns function that resolves undefined where the server cannot count now
 */
export function createTokenCounter(
  methods: () => readonly TokenCounter[],
  post: (path: string, body: unknown) => Promise<Reply<Buffer>>,
) {
  const missing = new Set<TokenCounter>();
  return async (request: ChatRequest): Promise<number | undefined> => {
    for (const method of methods()) {
      if (missing.has(method)) continue;
      try {
        return await counters[method](request, async (path, body) => read(await post(path, body)));
      } catch (error) {
        if (!(error instanceof MissingError)) return undefined;
        missing.add(method);
      }
    }
    return undefined;
  };
}

class MissingError extends Error {}

function read({ status, body }: Reply<Buffer>): Fields {
  if (status === 404 || status === 405 || status === 501) throw new MissingError();
  if (status !== 200) throw new Error(`status ${status}`);
  return fieldsOf(JSON.parse(body.toString()));
}

type PostFields = (path: string, body: unknown) => Promise<Fields>;

const counters: Record<
  TokenCounter,
  (request: ChatRequest, post: PostFields) => Promise<number | undefined>
> = {
  async input_tokens(request, post) {
    return count((await post('/v1/chat/completions/input_tokens', request))['input_tokens']);
  },
  async count_tokens({ model, system, messages, tools, tool_choice, thinking }, post) {
    const body = { model, system, messages, tools, tool_choice, thinking };
    return count((await post('/v1/messages/count_tokens', body))['input_tokens']);
  },
  async messages({ model, messages, tools, chat_template_kwargs }, post) {
    const body = { model, messages, tools, chat_template_kwargs, add_generation_prompt: true };
    return count((await post('/tokenize', body))['count']);
  },
  async template({ messages, tools, chat_template_kwargs }, post) {
    const { prompt } = await post('/apply-template', { messages, tools, chat_template_kwargs });
    const body = { content: stringOr(prompt, ''), add_special: true, parse_special: true };
    const { tokens } = await post('/tokenize', body);
    return Array.isArray(tokens) ? tokens.length : undefined;
  },
  async text({ model, messages, tools }, post) {
    const prompt = JSON.stringify(tools ?? '') + messages.map((message) => textOf(message)).join('\n');
    const tokens = count((await post('/tokenize', { model, prompt, add_special_tokens: false }))['count']);
    return tokens === undefined ? undefined : tokens + tokensPerMessage * messages.length;
  },
};

function textOf({ content, tool_calls: calls }: ChatRequest['messages'][number]): string {
  const text =
    typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join('');
  return calls?.length ? `${text}${JSON.stringify(calls)}` : text;
}
