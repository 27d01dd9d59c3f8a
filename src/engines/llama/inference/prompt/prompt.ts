import { fieldsOf } from '../../../../base/fields.ts';
import { invalid } from '../../../../core/errors.ts';
import type { ChatRequest } from '../../../../wire/chat/chat.ts';
import { answerRule } from '../../../../wire/chat/answer-rule.ts';
import { toTemplateMessages, toTemplateTools } from './messages.ts';
import type { Family } from '../families.ts';
import { type Part, readPrompt } from './limits.ts';
import { createChatTemplate } from './template.ts';
import type { Vocabulary } from '../vocabulary.ts';

export type Tokenizer = Pick<Vocabulary, 'tokenize' | 'controlTexts' | 'bosText' | 'eosText' | 'bos'>;

export interface Prompt {
  tokens: number[];
  /** The prompt ends inside the reasoning, which the answer continues. */
  isThinking: boolean;
}

/**
 * Renders a conversation up to the start of the answer. The function throws `context_length_exceeded` (400) for a prompt of
 * more than twice the context, and `validation_error` (422) if the template rejects the messages.
 * @param contextLength Infinity for no limit
 */
export function createPrompts(
  template: string | undefined,
  tokenizer: Tokenizer,
  family: Family,
  contextLength: number,
): (request: ChatRequest) => Prompt {
  const renderTemplate = createChatTemplate(template, family);
  const shield = createShield(tokenizer.controlTexts);

  function render(request: ChatRequest): string {
    const tools = request.tool_choice === 'none' ? [] : toTemplateTools(request.tools ?? []);
    return renderTemplate(shield.cover(toTemplateMessages(request.messages)), shield.cover(tools), {
      bos_token: tokenizer.bosText,
      eos_token: tokenizer.eosText,
      ...thinkingVariables(request),
    });
  }

  return (request) => {
    let text: string;
    try {
      text = render(request);
    } catch (error) {
      if (!(error instanceof Error) || error.name === 'ApiError') throw error;
      throw invalid('messages', `the chat template of the model rejects them: ${error.message}`);
    }
    let isThinking = family.thinking !== null && text.trimEnd().endsWith(family.thinking.start);
    if (isThinking && !mayThink(request)) {
      text = `${text.trimEnd()}\n\n${family.thinking!.end}\n\n`;
      isThinking = false;
    }
    return { tokens: readPrompt(shield.split(text), tokenizer, contextLength), isThinking };
  };
}

/** False with a grammar, which has no room for reasoning, and if the caller turned it off. */
function mayThink(request: ChatRequest): boolean {
  if (answerRule(request).kind !== 'text' || request.reasoning_effort === 'none') return false;
  return templateArguments(request).enable_thinking !== false;
}

/** Variables that control reasoning in templates; absent for the default of the template. */
function thinkingVariables(request: ChatRequest): Record<string, unknown> {
  const effort = request.reasoning_effort;
  const given = templateArguments(request);
  return {
    ...(effort && effort !== 'none' ? { reasoning_effort: effort } : {}),
    ...given,
    ...(mayThink(request) ? {} : { enable_thinking: false, thinking: false }),
  };
}

/** `chat_template_kwargs`, as on other servers, without the variables of the conversation. */
function templateArguments(request: ChatRequest): Record<string, unknown> {
  const ours = ['messages', 'tools', 'add_generation_prompt', 'bos_token', 'eos_token'];
  const given = Object.entries(fieldsOf(request.chat_template_kwargs));
  return Object.fromEntries(given.filter(([key]) => !ours.includes(key)));
}

/**
 * Reserves control tokens for the template. Their texts in messages are replaced while the template renders, and tokenized
 * as plain text, so that a message cannot end its turn or open another.
 */
function createShield(controlTexts: readonly string[]) {
  const [open, close] = ['\uFDD0', '\uFDD1'];
  const reserved = [...controlTexts.filter((text) => text !== ''), open, close].toSorted(
    (a, b) => b.length - a.length,
  );
  const numbers = new Map(reserved.map((text, number) => [text, number]));
  const anyReserved = new RegExp(reserved.map((text) => RegExp.escape(text)).join('|'), 'gu');
  const covered = new RegExp(`${open}(\\d+)${close}`, 'u');

  function cover(value: unknown): unknown {
    if (typeof value === 'string')
      return value.replace(anyReserved, (text) => `${open}${numbers.get(text)}${close}`);
    if (Array.isArray(value)) return value.map(cover);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [cover(key), cover(member)]));
  }

  return {
    cover: cover as <T>(value: T) => T,
    // With a group in the pattern, every second part is a number.
    split: (text: string): Part[] =>
      text
        .split(covered)
        .map((part, index) => {
          const isTemplate = index % 2 === 0;
          return { text: isTemplate ? part : reserved[Number(part)]!, isTemplate };
        })
        .filter((part) => part.text !== ''),
  };
}
