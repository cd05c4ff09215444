import type { JsonObject } from '../apimachinery/json.ts';

/** What `/version` answers: the Kubernetes release whose behaviour this server follows, with this program's own build after the plus sign. */
export const versionInfo: JsonObject = {
  major: '1',
  minor: '36',
  emulationMajor: '1',
  emulationMinor: '36',
  minCompatibilityMajor: '1',
  minCompatibilityMinor: '35',
  gitVersion: 'v1.36.2+podtender',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: `node${process.versions.node}`,
  compiler: 'v8',
  platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
};
