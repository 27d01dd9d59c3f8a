import type { ChatRequest } from '../../../wire/chat/chat.ts';
import { type Fields, fieldsOf, stringOr } from '../../../base/fields.ts';
import type { TokenCounter } from '../flavors/traits.ts';
import type { Timeouts } from '../connection/timeouts.ts';
import type { Reply } from '../connection/replies.ts';
import { count } from '../answer/usage-figures.ts';

/** Nobody waits long for a number that can be estimated. */
export const countTimeouts: Timeouts = {
  connectMs: 1_000,
  firstByteMs: 3_000,
  idleMs: 3_000,
  totalMs: 3_000,
};

/** What a chat template puts around a message, about. */
const aroundMessage = 4;

/** Posts JSON to a path below the address of the server; `/v1` is not in it by itself. */
export type Post = (path: string, body: unknown) => Promise<Reply<Buffer>>;

/** Counts the tokens of a request as it is sent; undefined when the server cannot tell, or not now. */
export type Counter = (request: ChatRequest) => Promise<number | undefined>;

/** Asks in the first way that the server has; one that it has not is not tried again. */
export function createCounter(ways: () => readonly TokenCounter[], post: Post): Counter {
  const missing = new Set<TokenCounter>();
  return async (request) => {
    for (const way of ways()) {
      if (missing.has(way)) continue;
      try {
        return await counters[way](request, async (path, body) => read(await post(path, body)));
      } catch (error) {
        if (!(error instanceof NotThere)) return undefined;
        missing.add(way);
      }
    }
    return undefined;
  };
}

class NotThere extends Error {}

function read({ status, body }: Reply<Buffer>): Fields {
  if (status === 404 || status === 405 || status === 501) throw new NotThere();
  if (status !== 200) throw new Error(`status ${status}`);
  return fieldsOf(JSON.parse(body.toString()));
}

type Ask = (path: string, body: unknown) => Promise<Fields>;

const counters: Record<TokenCounter, (request: ChatRequest, ask: Ask) => Promise<number | undefined>> = {
  async input_tokens(request, ask) {
    return count((await ask('/v1/chat/completions/input_tokens', request))['input_tokens']);
  },
  async count_tokens({ model, system, messages, tools, tool_choice, thinking }, ask) {
    const body = { model, system, messages, tools, tool_choice, thinking };
    return count((await ask('/v1/messages/count_tokens', body))['input_tokens']);
  },
  async messages({ model, messages, tools, chat_template_kwargs }, ask) {
    const body = { model, messages, tools, chat_template_kwargs, add_generation_prompt: true };
    return count((await ask('/tokenize', body))['count']);
  },
  async template({ messages, tools, chat_template_kwargs }, ask) {
    const { prompt } = await ask('/apply-template', { messages, tools, chat_template_kwargs });
    const body = { content: stringOr(prompt, ''), add_special: true, parse_special: true };
    const { tokens } = await ask('/tokenize', body);
    return Array.isArray(tokens) ? tokens.length : undefined;
  },
  async text({ model, messages, tools }, ask) {
    const prompt = JSON.stringify(tools ?? '') + messages.map((message) => textOf(message)).join('\n');
    const counted = count((await ask('/tokenize', { model, prompt, add_special_tokens: false }))['count']);
    return counted === undefined ? undefined : counted + aroundMessage * messages.length;
  },
};

function textOf({ content, tool_calls: calls }: ChatRequest['messages'][number]): string {
  const said = typeof content === 'string' ? content : (content ?? []).map(({ text }) => text ?? '').join('');
  return calls?.length ? `${said}${JSON.stringify(calls)}` : said;
}
