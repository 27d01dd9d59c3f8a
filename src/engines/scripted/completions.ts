import type { ChatRequest } from '../../wire/chat/chat.ts';
import type {
  CompletionChoice,
  CompletionPiece,
  CompletionsRequest,
} from '../../wire/completions/completions.ts';
import { defaultMaxTokens } from '../../wire/completions/completions.ts';
import { logprobsWriter, type ScoredToken } from '../../wire/completions/logprobs.ts';
import { answerTo } from './answer.ts';
import { parsePrompt } from './directives.ts';
import { tokenize } from './tokens.ts';

export interface Completed {
  choices: CompletionChoice[];
  /** Of the answers, without prompts that were echoed. */
  tokens: number;
}

/** What the scripted engine writes behind each text: what it would say to it as a message. */
export function complete(request: CompletionsRequest, texts: readonly string[]): Completed {
  const most = request.max_tokens ?? defaultMaxTokens;
  let tokens = 0;
  const choices = texts.flatMap((text, at) => {
    const { model, stop, n, echo } = request;
    const chat: ChatRequest = { model, messages: [], stop: stop ?? null, max_tokens: most };
    const answer = answerTo(chat, parsePrompt(text), false);
    const said = answer.message.content ?? '';
    return Array.from({ length: n ?? 1 }, (_, k): CompletionChoice => {
      tokens += answer.tokens;
      return {
        index: at * (n ?? 1) + k,
        text: echo ? text + said : said,
        logprobs:
          typeof request.logprobs !== 'number' ? null : logprobsWriter()(scored(echo ? text : '', said)),
        finish_reason: answer.finishReason,
        ...(answer.stop !== undefined && { stop_reason: answer.stop }),
      };
    });
  });
  return { choices, tokens };
}

/** The longer a token, the less likely. */
function scored(prompt: string, said: string): ScoredToken[] {
  return [...tokenize(prompt), ...tokenize(said)].map((token, at) => ({
    token,
    logprob: at === 0 && prompt !== '' ? null : -token.length / 8,
    top_logprobs: [],
  }));
}

/** A choice as a stream tells it: its text, then why it ended. */
export function piecesOf({ finish_reason, stop_reason, ...rest }: CompletionChoice): CompletionPiece[] {
  const end = { index: rest.index, text: '', logprobs: null, finish_reason };
  return [
    { ...rest, finish_reason: null },
    { ...end, ...(stop_reason !== undefined && { stop_reason }) },
  ];
}
