import type { Words } from '../base/words.ts';
import type { DirectKind } from './model.ts';

/** Result of probing one server (`offpeak doctor`). */
export interface Examination {
  /** Detected kind of server. */
  flavor: string;
  isReachable: boolean;
  /** In order; ends after a fault that makes further checks pointless. */
  findings: Finding[];
}

export interface Finding {
  about:
    | Words<'connection models slots chat json_schema logprobs messages responses completions runner folder'>
    | DirectKind
    | 'tool call';
  /** `ours`: works because Offpeak emulates it. */
  verdict: 'ok' | 'ours' | 'fault';
  /** Sentence without the full stop. */
  summary: string;
  advice?: string;
  /** Configuration key to change. */
  key?: Words<'url api_key model ca capabilities serves address command status cancel folder'>;
}
