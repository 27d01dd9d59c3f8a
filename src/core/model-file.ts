import type { ModelSource, RemoteSource } from './model-source.ts';

/** How far a download is. */
export interface PullProgress {
  phase: 'waiting' | 'fetching' | 'checking';
  /** The file at hand, and which of how many it is (a model may be split). */
  file: string;
  part: number;
  parts: number;
  /** Bytes that are here, of all files together. */
  done: number;
  /** Null when the server does not say. */
  total: number | null;
}

export interface PullRequest {
  source: RemoteSource;
  /** A folder of the caller's choice; else the file gets its place in the folder of models. */
  to?: string | undefined;
  /** The checksum it must have, 64 hexadecimal digits. */
  sha256?: string | undefined;
  signal: AbortSignal;
  onProgress?: (progress: PullProgress) => void;
  /** What happened on the way: a broken connection, a file that changed. */
  onNote?: (note: string) => void;
}

export interface PulledModel {
  /** The file to load: of a split model, the first. */
  path: string;
  files: PulledFile[];
}

export interface PulledFile {
  path: string;
  bytes: number;
  /** What was checked: the checksum given or the hub's; null when there was none. */
  sha256: string | null;
  /** Whether it was here before. */
  present: boolean;
}

export interface InspectRequest {
  source: ModelSource;
  /** What its memory is computed for. */
  sequences: number;
  context: number | 'auto';
  signal: AbortSignal;
}

/** What the header of a GGUF file tells. Sizes are bytes. */
export interface ModelReport {
  name: string | null;
  architecture: string;
  parameters: number;
  quantization: string;
  /** Tokens it was trained for. */
  contextLength: number | null;
  layers: number | null;
  /** Numbers in a token's vector. */
  width: number | null;
  heads: number | null;
  keyValueHeads: number | null;
  tokenizer: { kind: string | null; pre: string | null; vocabulary: number | null };
  /** The family whose calls it shows, where it shows those of one, and how the template begins. Null: it has none. */
  template: { family: string | null; begins: string } | null;
  files: number;
  fileBytes: number;
  memory: {
    sequences: number;
    /** Tokens of each. */
    context: number;
    weights: number;
    cache: number;
    /** What is needed to work with them. */
    work: number;
    /** Why it does not fit into the memory that is free here and now; null when it fits. */
    misfit: string | null;
  };
}

/** A model in the folder of models, or one that is not whole yet. */
export interface LocalModel {
  path: string;
  bytes: number;
  /** For a split model, how many of its files are here, of how many. */
  parts: { here: number; of: number } | null;
  /** The share of it that is here, when it is not whole. */
  unfinished: number | null;
  /** Null when it cannot be read; `fault` tells why. */
  architecture: string | null;
  quantization: string | null;
  parameters: number | null;
  fault: string | null;
}
