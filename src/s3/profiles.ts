/** Settings of a profile, such as `aws_access_key_id`, by their names in lower case. */
export type AwsProfile = Partial<Record<string, string>>;

/**
 * Profiles of a file that `aws configure` writes, by the names of their sections. Indented lines, which belong to settings of one
 * service, are ignored.
 */
export function readProfiles(text: string): Map<string, AwsProfile> {
  const profiles = new Map<string, AwsProfile>();
  let current: AwsProfile = {};
  for (const line of text.split(/\r?\n/)) {
    const [, section] = /^\[\s*(.+?)\s*\]/.exec(line) ?? [];
    if (section !== undefined) {
      current = profiles.get(section) ?? {};
      profiles.set(section, current);
      continue;
    }
    const [, key, value] = /^([\w-]+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (key !== undefined && value) current[key.toLowerCase()] = value;
  }
  return profiles;
}
