import type { LlamaModel, Token } from 'node-llama-cpp';
import type { Library } from './loading/load.ts';

const controlTokenType = 3;

export type Vocabulary = ReturnType<typeof createVocabulary>;

/** Tokens of a model and their texts. */
export function createVocabulary({ TokenBias }: Library, model: LlamaModel) {
  const { tokens, model: kind, token_type: types } = model.fileInfo.metadata.tokenizer.ggml;
  /** Texts of the control tokens, such as `<|im_end|>`. */
  const controls = new Map([...tokens.entries()].filter(([id]) => Number(types?.[id]) === controlTokenType));
  const { bos, bosString, eosString, shouldPrependBosToken } = model.tokens;
  return {
    size: tokens.length,
    controls,
    controlTexts: [...controls.values()],
    bosText: bosString ?? '',
    eosText: eosString ?? '',
    /** First token of every prompt, for models that need one. */
    bos: shouldPrependBosToken ? ((bos ?? undefined) as number | undefined) : undefined,
    /** With `special`, the text of a control token becomes that token; otherwise it stays text. */
    tokenize: (text: string, special: boolean): number[] => model.tokenize(text, special),
    /** Without `special`, control tokens have no text. In byte-level vocabularies the text does not depend on `previous`. */
    detokenize: (ids: readonly number[], previous: readonly number[] = [], special = false): string =>
      model.detokenize(ids as Token[], special, kind === 'gpt2' ? [] : (previous as Token[])),
    isEnd: (id: number): boolean => model.isEogToken(id as Token),
    newBias: () => new TokenBias(model.tokenizer),
  };
}
