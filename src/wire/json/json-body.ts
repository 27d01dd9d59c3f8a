import type { JsonScan } from './scan.ts';

/** JSON document, parsed and as received: engines forward the text, so that numbers keep every digit. */
export interface JsonBody<T> {
  value: T;
  readonly text: string;
  /** Scan of the text, if one was made, to find members in it again. */
  scan?: JsonScan;
  /** True for a body that Offpeak built: its text is serialized from the value on access. */
  isBuilt?: true;
  /** Frees value and text once the body is sent, if both can be read again; a later access does that. */
  release?: () => void;
}

/** Body that Offpeak builds. It is serialized late, so changing members before it is sent costs nothing. */
export function builtBody<T extends Record<string, unknown>>(value: T): JsonBody<T> {
  return new BuiltBody(value);
}

class BuiltBody<T> implements JsonBody<T> {
  readonly isBuilt = true;
  readonly value: T;

  constructor(value: T) {
    this.value = value;
  }

  get text(): string {
    return JSON.stringify(this.value);
  }
}
