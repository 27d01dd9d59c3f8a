import type { Llama, LlamaGrammar } from 'node-llama-cpp';
import type { ChatRequest } from '../../../../wire/chat/chat.ts';
import type { Analysed } from '../../grammar/analysis.ts';
import { constraintKey, createConstraint } from './constraint.ts';
import type { Family } from '../families.ts';

/** What an answer is confined to, for our matcher and as llama.cpp has it. */
export interface Confined {
  analysed: Analysed;
  grammar: LlamaGrammar;
}

const mostKept = 32;

/**
 * What confines the answer to a request; undefined when the model is free. Schemas come again and again in a batch, so their
 * grammars are kept. Throws as `createConstraint` does.
 */
export function createConstraints(llama: Llama, family: Family) {
  const kept = new Map<string, Confined>();
  return async (request: ChatRequest): Promise<Confined | undefined> => {
    const key = constraintKey(request);
    const found = kept.get(key);
    if (found) return found;
    const constraint = createConstraint(request, family);
    if (!constraint) return undefined;
    const { analysed, gbnf } = constraint;
    const made = { analysed, grammar: await llama.createGrammar({ grammar: gbnf }) };
    kept.set(key, made);
    const [oldest] = kept.keys();
    if (kept.size > mostKept) kept.delete(oldest!);
    return made;
  };
}
