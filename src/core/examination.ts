/** What was found out about one server by asking it (`offpeak doctor`). */
export interface Examination {
  /** What kind of server it is, as far as it tells. */
  flavor: string;
  isReachable: boolean;
  /** In the order in which they were made; after one that makes the others pointless there are none. */
  findings: Finding[];
}

export interface Finding {
  about:
    | 'connection'
    | 'models'
    | 'slots'
    | 'chat'
    | 'tool call'
    | 'json_schema'
    | 'logprobs'
    | 'messages'
    | 'responses'
    | 'completions'
    | 'embeddings';
  /** `ours`: it works, but by what Offpeak does beside. */
  verdict: 'ok' | 'ours' | 'fault';
  /** Without its full stop. */
  told: string;
  /** What to do about it. */
  advice?: string;
  /** The key of the configuration that is to be changed. */
  key?: 'url' | 'api_key' | 'model' | 'ca' | 'capabilities' | 'serves';
}
