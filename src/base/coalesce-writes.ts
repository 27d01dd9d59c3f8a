/**
 * Writes many values with few calls: values that come while a group is written are the next group. The first one waits for
 * nobody, so a value alone takes as long as it ever did.
 * @param write writes a group, all of it or nothing. When it rejects, each value of the group is written alone, so that
 *   one that cannot be written harms only itself; all at once, because each may wait long for what does not answer.
 * @param most values in a group
 * @returns writes a value; settles when it is written
 */
export function coalesceWrites<T>(
  write: (values: T[]) => Promise<void>,
  most: number,
): (value: T) => Promise<void> {
  let waiting: Entry<T>[] = [];
  let isWriting = false;

  async function writeAll(): Promise<void> {
    isWriting = true;
    while (waiting.length > 0) {
      const group = waiting.slice(0, most);
      waiting = waiting.slice(most);
      await writeGroup(group);
    }
    isWriting = false;
  }

  async function writeGroup(group: Entry<T>[]): Promise<void> {
    try {
      await write(group.map(({ value }) => value));
      for (const { resolve } of group) resolve();
    } catch (error) {
      if (group.length === 1) group[0]!.reject(error);
      else await Promise.all(group.map((entry) => writeGroup([entry])));
    }
  }

  return (value) =>
    new Promise((resolve, reject) => {
      waiting.push({ value, resolve, reject });
      if (!isWriting) void writeAll();
    });
}

interface Entry<T> {
  value: T;
  resolve: () => void;
  reject: (error: unknown) => void;
}
