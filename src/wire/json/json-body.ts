import type { JsonScan } from './scan.ts';

/** A JSON document parsed and as it came: engines forward the text, so that numbers keep every digit they had. */
export interface JsonBody<T> {
  value: T;
  readonly text: string;
  /** Of this very text, where one was made: who changes a member need not look for it again. */
  scan?: JsonScan;
  /** Nobody sent it, so that there are no bytes to be kept: its text is made of the value when somebody asks for it. */
  isBuilt?: true;
  /** It is sent: lets go of value and text where both can be read once more, which whoever still asks for one of them causes. */
  release?: () => void;
}

/** A body that is put together here: what is changed of it before it is sent costs nothing. */
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
