import { AgentError } from '../../base/errors.ts';
import type { Pod, Volume } from '../../kube/types.ts';
import type { VolumeFile } from '../../provider/resolution.ts';
import type { EciValue } from './api.ts';

/**
 * The most that a pod's files may take together, bytes of base64: all parameters travel in one URL, which servers and proxies bound.
 */
export const filesBudget: number = 60 * 1024;

/** volumeParameters are the pod's volumes as parameters of `CreateContainerGroup`; `files` are those of volumes made from objects. */
export function volumeParameters(
  pod: Pod,
  files: ReadonlyMap<string, readonly VolumeFile[]>,
): readonly EciValue[] {
  const volumes = pod.spec?.volumes ?? [];
  requireBudget(volumes, files);
  return volumes.map((volume) => volumeParameter(volume, files.get(volume.name)));
}

function volumeParameter(volume: Volume, files: readonly VolumeFile[] | undefined): EciValue {
  const { name, nfs, flexVolume, emptyDir } = volume;
  if (nfs)
    return {
      Name: name,
      Type: 'NFSVolume',
      NFSVolume: { Server: nfs.server, Path: nfs.path, ReadOnly: nfs.readOnly },
    };
  if (flexVolume)
    return {
      Name: name,
      Type: 'FlexVolume',
      FlexVolume: {
        Driver: flexVolume.driver,
        FsType: flexVolume.fsType,
        Options: flexVolume.options && JSON.stringify(flexVolume.options),
      },
    };
  if (files)
    return {
      Name: name,
      Type: 'ConfigFileVolume',
      ConfigFileVolume: {
        DefaultMode: defaultModeOf(volume),
        ConfigFileToPath: files.map(({ path, bytes, mode }) => ({
          Path: path,
          Content: Buffer.from(bytes).toString('base64'),
          Mode: mode,
        })),
      },
    };
  return {
    Name: name,
    Type: 'EmptyDirVolume',
    EmptyDirVolume: emptyDir && { Medium: emptyDir.medium, SizeLimit: emptyDir.sizeLimit },
  };
}

const defaultModeOf = ({ configMap, secret, downwardAPI, projected }: Volume): number | undefined =>
  (configMap ?? secret ?? downwardAPI ?? projected)?.defaultMode;

function requireBudget(volumes: readonly Volume[], files: ReadonlyMap<string, readonly VolumeFile[]>): void {
  const sizes = volumes.map(({ name }): readonly [string, number] => [
    name,
    (files.get(name) ?? []).reduce((sum, { bytes }) => sum + Math.ceil(bytes.length / 3) * 4, 0),
  ]);
  const total = sizes.reduce((sum, [, size]) => sum + size, 0);
  if (total <= filesBudget) return;
  const list = sizes.filter(([, size]) => size > 0).map(([name, size]) => `${name}: ${String(size)}`);
  throw new AgentError(
    'invalid_argument',
    `the files of the pod's volumes take ${String(total)} bytes of a request, more than the ${String(filesBudget)} that it can carry (${list.join(', ')})`,
  );
}
