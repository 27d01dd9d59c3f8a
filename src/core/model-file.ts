import type { CardChoice, GpuKind } from './card.ts';
import type { ModelSource, RemoteSource } from './model-source.ts';

export interface PullProgress {
  phase: 'waiting' | 'fetching' | 'checking';
  /** Current file, and its number among the parts of a split model. */
  file: string;
  part: number;
  parts: number;
  /** Bytes present, of all files. */
  done: number;
  /** Null if the server does not report it. */
  total: number | null;
}

export interface PullRequest {
  source: RemoteSource;
  /** Target folder; the model folder if absent. */
  to?: string | undefined;
  /** Required checksum, 64 hex digits. */
  sha256?: string | undefined;
  signal: AbortSignal;
  onProgress?: (progress: PullProgress) => void;
  /** Called with events such as a broken connection. */
  onNote?: (note: string) => void;
}

export interface PulledModel {
  /** File to load; the first of a split model. */
  path: string;
  files: PulledFile[];
}

export interface PulledFile {
  path: string;
  bytes: number;
  /** Verified checksum, of the request or the hub; null if there was none. */
  sha256: string | null;
  /** True if the file existed before. */
  present: boolean;
}

export interface InspectRequest {
  source: ModelSource;
  sequences: number;
  context: number | 'auto';
  /** Graphics cards to plan with, and the memory of each that is left to others. */
  card?: { choice: CardChoice; reserve: number };
  signal: AbortSignal;
}

/** Contents of a GGUF header. Sizes are bytes. */
export interface ModelReport {
  name: string | null;
  architecture: string;
  parameters: number;
  quantization: string;
  /** Context length in training. */
  contextLength: number | null;
  layers: number | null;
  /** Embedding dimensions. */
  width: number | null;
  heads: number | null;
  keyValueHeads: number | null;
  tokenizer: { kind: string | null; pre: string | null; vocabulary: number | null };
  /** Detected tool call family, and the beginning of the chat template; null without a template. */
  template: { family: string | null; begins: string } | null;
  files: number;
  fileBytes: number;
  memory: {
    sequences: number;
    /** Tokens per sequence. */
    context: number;
    weights: number;
    cache: number;
    /** Working memory. */
    work: number;
    /** Reason why the model does not fit into free memory now; null if it fits. */
    misfit: string | null;
    /** Part of the model on graphics cards: layers of all layers, both with the output, and bytes; null without a card. */
    card: { kind: GpuKind; names: string[]; layers: number; of: number; bytes: number } | null;
    /** Sentence about a card that is not used, or not for all layers. */
    note: string | null;
  };
}

/** Complete or partial model in the model folder. */
export interface LocalModel {
  path: string;
  bytes: number;
  /** Files present of a split model. */
  parts: { here: number; of: number } | null;
  /** Downloaded share of a partial model. */
  unfinished: number | null;
  /** Null if the file cannot be read; see `fault`. */
  architecture: string | null;
  quantization: string | null;
  parameters: number | null;
  fault: string | null;
}
