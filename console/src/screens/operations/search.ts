/** Parts of the screen. */
export const tabs = ['servers', 'processes', 'pauses', 'webhooks', 'audit'] as const;
export type Tab = (typeof tabs)[number];

/** State of the screen in its address. */
export interface OperationsSearch {
  tab?: Tab;
  /** Webhook whose deliveries are shown. */
  webhook?: string;
  /** Filters of the audit log. */
  actor?: string;
  target?: string;
}

/** Reads the address; what is unknown is ignored. */
export function readSearch(search: Record<string, unknown>): OperationsSearch {
  const text = (name: string) => {
    const value = search[name];
    return typeof value === 'string' && value !== '' ? { [name]: value } : {};
  };
  const tab = tabs.find((each) => each === search['tab']);
  return { ...(tab && { tab }), ...text('webhook'), ...text('actor'), ...text('target') };
}
