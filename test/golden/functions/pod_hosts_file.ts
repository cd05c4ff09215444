import {
  type HostAlias,
  managedHostsFile,
  nodeHostsFile,
} from '../../../src/containers/volumes/hosts-file.ts';
import { check, type Replay } from '../harness.ts';

interface Input {
  readonly nodeHostsFile?: string;
  readonly hostAliases: readonly HostAlias[] | null;
  readonly hostDomain: string;
  readonly hostName: string;
  readonly podIPs: readonly string[] | null;
}

export const replay: Replay = ({ in: input, out }) => {
  const { nodeHostsFile: nodeFile, hostAliases, podIPs, ...names } = input as Input;
  const aliases = hostAliases ?? [];
  const content =
    nodeFile === undefined
      ? managedHostsFile({ ...names, podIPs: podIPs ?? [], hostAliases: aliases })
      : nodeHostsFile(nodeFile, aliases);
  return check((out as { content: string }).content, content, { operation: input });
};
