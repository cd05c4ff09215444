import { expect, test } from 'vitest';
import { checkAnswer } from '../../../src/providers/cri/checks.ts';
import type { UnaryMethods } from '../../../src/providers/cri/gen/methods.ts';

const metadata = { name: 'p', namespace: 'n', uid: 'u' };
const sandbox = { id: 's', metadata, createdAt: 1 };
const container = { id: 'c', metadata: { name: 'c' }, createdAt: 1, image: { image: 'i' }, imageRef: 'r' };
const version = { version: '1', runtimeName: 'r', runtimeVersion: '2', runtimeApiVersion: 'v1' };

type Row = readonly [method: keyof UnaryMethods, answer: object, fault?: string];

const asked = { image: { image: 'app:1' } };

test.for<Row>([
  ['Version', version],
  ['Version', { ...version, runtimeName: '' }, 'not all fields are set in VersionResponse'],
  ['Status', { status: { conditions: [{}, {}] } }],
  ['Status', { status: { conditions: [{}] } }, 'RuntimeReady or NetworkReady condition are not set'],
  ['PodSandboxStatus', { status: sandbox }],
  ['PodSandboxStatus', {}],
  ['PodSandboxStatus', { status: { ...sandbox, id: '' } }, 'status.Id is not set'],
  ['PodSandboxStatus', { status: { id: 's', createdAt: 1 } }, 'status.Metadata is not set'],
  [
    'PodSandboxStatus',
    { status: { ...sandbox, metadata: { name: 'p' } } },
    'metadata.Name, metadata.Namespace or metadata.Uid is not in metadata',
  ],
  ['PodSandboxStatus', { status: { ...sandbox, createdAt: 0 } }, 'status.CreatedAt is not set'],
  ['ContainerStatus', { status: container }],
  ['ContainerStatus', {}],
  ['ContainerStatus', { status: { ...container, id: '' } }, 'status.Id is not set'],
  ['ContainerStatus', { status: { id: 'c' } }, 'status.Metadata is not set'],
  ['ContainerStatus', { status: { ...container, metadata: {} } }, 'metadata.Name is not in metadata'],
  ['ContainerStatus', { status: { ...container, createdAt: 0 } }, 'status.CreatedAt is not set'],
  ['ContainerStatus', { status: { ...container, image: {} } }, 'status.Image is not set'],
  ['ContainerStatus', { status: { ...container, imageRef: '' } }, 'status.ImageRef is not set'],
  ['ImageStatus', {}],
  ['ImageStatus', { image: { id: 'i', size: 1 } }],
  ['ImageStatus', { image: { id: 'i' } }, 'Id or size of image "app:1" is not set'],
  ['PullImage', { imageRef: 'r' }],
  ['PullImage', {}, 'imageRef of image "app:1" is not set'],
  ['StopContainer', {}],
])('an answer to %s, %j, lacks: %s', ([method, answer, fault]) => {
  const check = (): void => {
    checkAnswer(method, asked, answer);
  };
  if (fault === undefined) expect(check).not.toThrow();
  else expect(check).toThrow(fault);
});
