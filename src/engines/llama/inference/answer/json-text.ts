/** Where the JSON object or array that begins at `from` ends, or undefined when it does not end or does not begin. */
export function jsonEnd(text: string, from: number): number | undefined {
  let depth = 0;
  let isInString = false;
  for (let i = from; i < text.length; i++) {
    const letter = text[i]!;
    if (isInString) {
      if (letter === '\\') i++;
      else if (letter === '"') isInString = false;
    } else if (letter === '"') isInString = true;
    else if (letter === '{' || letter === '[') depth++;
    else if (letter === '}' || letter === ']') depth--;
    if (depth === 0 && !isInString) return i > from ? i + 1 : undefined;
  }
  return undefined;
}

/** The value of a JSON text; undefined when it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
