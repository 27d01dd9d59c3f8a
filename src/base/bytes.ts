const units = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const;

/** Formats a size for display: `512 bytes`, `1.03 MB`, `42.1 GB`, in powers of 1000. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 999.5 && unit < units.length - 1; unit++) value /= 1000;
  if (unit === 0) return `${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`;
  return `${value.toPrecision(3)} ${units[unit]}`;
}
