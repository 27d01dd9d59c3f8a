const minute = 60;
const day = 86_400;

const formats = {
  second: new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', hourCycle: 'h23' }),
  minute: new Intl.DateTimeFormat(undefined, { timeStyle: 'short', hourCycle: 'h23' }),
  hour: new Intl.DateTimeFormat(undefined, {
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }),
  day: new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' }),
};

/** Labels of a time axis, as short as its ticks allow: `11:42:05`, `11:42`, `28 Nov, 11:42`, `28 Nov`. @param ticks Unix seconds */
export function timeLabels(ticks: readonly number[]): string[] {
  const step = (ticks[1] ?? 0) - (ticks[0] ?? 0);
  const length = (ticks.at(-1) ?? 0) - (ticks[0] ?? 0);
  const unit = step >= day ? 'day' : step < minute ? 'second' : length >= day ? 'hour' : 'minute';
  return ticks.map((tick) => formats[unit].format(tick * 1_000));
}
