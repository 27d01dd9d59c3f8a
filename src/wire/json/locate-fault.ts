/**
 * Finds the first fault of a text that `JSON.parse` rejected: its UTF-16 position and a message that is better than the
 * parser's, which often has no position. Slow, so only called after a failure; the scan has limited the nesting before.
 */
export function locateJsonFault(text: string): { at: number; message: string } {
  const reader = new Reader(text);
  try {
    reader.value();
    reader.space();
    if (reader.at < text.length) reader.fail('unexpected text after the JSON value');
  } catch (error) {
    if (error instanceof JsonFault) return { at: reader.at, message: error.message };
    throw error;
  }
  return { at: 0, message: 'invalid JSON' };
}

class JsonFault extends Error {}

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const word = /[A-Za-z_$][\w$]*/y;
const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

const singleQuotes = 'strings need double quotes, not single quotes';

class Reader {
  readonly #text: string;
  at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  fail(message: string): never {
    throw new JsonFault(message);
  }

  space(): void {
    while (' \n\r\t'.includes(this.#peek() || 'x')) this.at += 1;
    if (this.#text.startsWith('//', this.at) || this.#text.startsWith('/*', this.at))
      this.fail('JSON does not allow comments');
  }

  value(): void {
    this.space();
    const char = this.#peek();
    if (char === '{') this.#list('an object', '}');
    else if (char === '[') this.#list('an array', ']');
    else if (char === '"') this.#string();
    else this.#scalar(char);
  }

  #peek(): string {
    return this.#text.charAt(this.at);
  }

  #scalar(char: string): void {
    if (char === '') this.fail('the text ends where a value is expected');
    if (char === "'") this.fail(singleQuotes);
    if (this.#match(number)) {
      if (/[\w.+]/.test(this.#peek())) this.fail('invalid number');
      return;
    }
    const start = this.at;
    const name = this.#match(word);
    if (name === 'true' || name === 'false' || name === 'null') return;
    this.at = start;
    if (name) this.fail(`${name} is not a JSON value`);
    this.fail(`unexpected ${show(char)} where a value is expected`);
  }

  #list(inside: string, close: string): void {
    this.at += 1;
    this.space();
    if (this.#take(close)) return;
    for (;;) {
      this.space();
      if (this.#peek() === close) this.fail('trailing comma');
      if (close === '}') this.#key();
      this.value();
      this.space();
      if (this.#take(close)) return;
      if (this.#take(',')) continue;
      const char = this.#peek();
      if (char === '') this.fail(`the text ends inside ${inside}`);
      this.fail(`expected a comma or ${close}, got ${show(char)}`);
    }
  }

  #key(): void {
    const char = this.#peek();
    if (char === "'") this.fail(singleQuotes);
    if (char === '') this.fail('the text ends inside an object');
    if (char !== '"') this.fail('expected a key in double quotes');
    this.#string();
    this.space();
    if (this.#take(':')) return;
    this.fail(this.#peek() === '' ? 'the text ends inside an object' : 'expected a colon after the key');
  }

  #string(): void {
    this.at += 1;
    for (;;) {
      const char = this.#peek();
      if (char === '') this.fail('the text ends inside a string');
      if (char === '"') break;
      if (char < ' ') this.fail(`the control character ${show(char)} must be escaped inside a string`);
      if (char !== '\\') this.at += 1;
      else if (!this.#match(escape)) this.fail('invalid escape');
    }
    this.at += 1;
  }

  #take(char: string): boolean {
    if (this.#peek() !== char) return false;
    this.at += 1;
    return true;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.#text)?.[0];
    this.at += found?.length ?? 0;
    return found;
  }
}

function show(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  const plain = code > 0x20 && code < 0x7f;
  return plain ? `'${char}'` : `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}
