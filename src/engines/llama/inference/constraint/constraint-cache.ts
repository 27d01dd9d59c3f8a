import type { Llama, LlamaGrammar } from 'node-llama-cpp';
import type { ChatRequest } from '../../../../wire/chat/chat.ts';
import { type Constraint, constraintKey, createConstraint } from './constraint.ts';
import type { Family } from '../families.ts';

/** A constraint with its grammar as llama.cpp has it. */
export interface Confined {
  constraint: Constraint;
  grammar: LlamaGrammar;
}

/** Schemas come again and again in a batch; their grammars are kept. */
export interface ConstraintCache {
  /** Undefined when the request leaves the model free. Throws as `createConstraint` does. */
  constraintOf(request: ChatRequest): Promise<Confined | undefined>;
}

const mostKept = 32;

export function createConstraintCache(llama: Llama, family: Family): ConstraintCache {
  const kept = new Map<string, Confined>();
  return {
    async constraintOf(request) {
      const key = constraintKey(request);
      const found = kept.get(key);
      if (found) return found;
      const constraint = createConstraint(request, family);
      if (!constraint) return undefined;
      const made = { constraint, grammar: await llama.createGrammar({ grammar: constraint.gbnf }) };
      kept.set(key, made);
      const [oldest] = kept.keys();
      if (kept.size > mostKept) kept.delete(oldest!);
      return made;
    },
  };
}
