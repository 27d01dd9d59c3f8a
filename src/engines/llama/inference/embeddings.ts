import type { LlamaEmbeddingContext, Token } from 'node-llama-cpp';
import { sum } from '../../../base/sum.ts';
import { ApiError, invalid } from '../../../core/errors.ts';
import type { Embeddings, EmbeddingsRequest } from '../../../wire/embeddings/embeddings.ts';
import { splitTextInputs } from '../../../wire/shared/text-inputs.ts';
import type { Loaded } from './loading/load.ts';
import { knownTokens } from './prompt/limits.ts';
import type { Vocabulary } from './vocabulary.ts';

/** Embeds one text after another, in a context that the first request creates. */
export function createEmbedder(
  { model, contextLength, threads }: Loaded,
  vocabulary: Vocabulary,
  onStep: () => void,
) {
  let context: Promise<LlamaEmbeddingContext> | undefined;

  function open(): Promise<LlamaEmbeddingContext> {
    // A text must fit into one batch, because pooling sees only the last one.
    context ??= model
      .createEmbeddingContext({ contextSize: contextLength, batchSize: contextLength, threads })
      .catch((error: unknown) => {
        // The next request may find enough memory.
        context = undefined;
        throw error;
      });
    return context;
  }

  function tokensOf(input: string | readonly number[], param: string): Token[] {
    const tokens =
      typeof input === 'string'
        ? vocabulary.tokenize(input, false)
        : knownTokens(input, param, vocabulary.size);
    if (tokens.length === 0) throw invalid(param, 'must not be empty');
    return tokens as Token[];
  }

  /** Tokens of each input, and their sum as the library counts them. */
  async function read(request: EmbeddingsRequest) {
    const inputs = splitTextInputs('input', request.input);
    const tokens = inputs.map(({ input, param }) => tokensOf(input, param));
    const embedder = await open();
    const lengths = tokens.map((list) => embedder.calculateInputLength([...list]));
    for (const [index, { param }] of inputs.entries())
      if (lengths[index]! >= contextLength)
        throw new ApiError(
          'context_length_exceeded',
          `${param} has ${lengths[index]} tokens, and this model embeds at most ${contextLength - 1}. Split the text.`,
          { param },
        );
    return { embedder, tokens, promptTokens: sum(lengths) };
  }

  return {
    embed: async (request: EmbeddingsRequest, signal: AbortSignal): Promise<Embeddings> => {
      const size = model.embeddingVectorSize;
      if ((request.dimensions ?? size) !== size)
        throw invalid('dimensions', `this model's vectors have ${size} dimensions and cannot be cut`);
      const { embedder, tokens, promptTokens } = await read(request);
      const vectors: Float32Array[] = [];
      for (const list of tokens) {
        signal.throwIfAborted();
        const { vector } = await embedder.getEmbeddingFor(list);
        vectors.push(normalise(vector));
        onStep();
      }
      return { vectors, promptTokens };
    },
    countTokens: async (request: EmbeddingsRequest) => (await read(request)).promptTokens,
  };
}

/** Scales a vector to length 1; a zero vector stays unchanged. */
export function normalise(vector: readonly number[]): Float32Array {
  const length = Math.hypot(...vector);
  return Float32Array.from(vector, (x) => (length > 0 ? x / length : x));
}
