const units = ['B', 'KB', 'MB', 'GB', 'TB'];

/** Size of a file: `812 B`, `3.2 MB`. */
export function bytes(size: number): string {
  let [value, unit] = [size, 0];
  while (value >= 1_000 && unit < units.length - 1) {
    value /= 1_000;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]!}`;
}
