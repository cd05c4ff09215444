import { connect } from 'node:tls';
import { EmbeddedApiServer, type EmbeddedApiServerOptions } from '../../src/apiserver/index.ts';
import { ApiError } from '../../src/api/client.ts';
import type { ApiConnection } from '../../src/api/rest/connection.ts';
import { defineKind } from '../../src/controller/kinds.ts';
import type { Kind, KubeObject, ObjectOf } from '../../src/controller/types.ts';
import { kinds } from '../../src/controller/kinds.ts';

export type Pod = ObjectOf<typeof kinds.Pod>;
export type ConfigMap = ObjectOf<typeof kinds.ConfigMap>;
export type Deployment = ObjectOf<typeof kinds.Deployment>;

/** A custom resource with a status subresource. */
export interface Widget extends KubeObject {
  spec?: { size?: number; color?: string };
  status?: { ready?: boolean; size?: number };
}
export const Widget: Kind<Widget> = defineKind<Widget>({
  group: 'example.com',
  version: 'v1',
  kind: 'Widget',
});

export const widgetDefinition = {
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { kind: 'Widget', plural: 'widgets', singular: 'widget', listKind: 'WidgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: { specReplicasPath: '.spec.size', statusReplicasPath: '.status.size' },
        },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
      },
    ],
  },
};

export const startServer = (options: EmbeddedApiServerOptions = {}): Promise<EmbeddedApiServer> =>
  EmbeddedApiServer.start({ controllers: false, ...options });

/** The connection of the administrator. */
export const connectionTo = ({ url, ca, admin }: EmbeddedApiServer): ApiConnection => ({
  server: url,
  ca,
  cert: admin.cert,
  key: admin.key,
});

export const configMap = (name: string, more: Partial<ConfigMap> = {}): ConfigMap => ({
  ...more,
  metadata: { namespace: 'default', name, ...more.metadata },
});

export const pod = (name: string, more: Partial<Pod> = {}): Pod => ({
  spec: { containers: [{ name: 'main', image: 'image' }] },
  ...more,
  metadata: { namespace: 'default', name, ...more.metadata },
});

export const deployment = (name: string, more: Partial<Deployment> = {}): Deployment => ({
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'main', image: 'image' }] },
    },
  },
  ...more,
  metadata: { namespace: 'default', name, ...more.metadata },
});

export const widget = (name: string, more: Partial<Widget> = {}): Widget => ({
  ...more,
  metadata: { namespace: 'default', name, ...more.metadata },
});

export const names = (objects: readonly KubeObject[]): string[] =>
  objects.map(({ metadata }) => metadata?.name ?? '').sort();

/** The error that a call is rejected with. @throws when it is not rejected */
export async function failure(call: Promise<unknown>): Promise<ApiError> {
  try {
    await call;
  } catch (reason) {
    if (reason instanceof ApiError) return reason;
    throw reason;
  }
  throw new Error('the call was not rejected');
}

/** The common name of the certificate that a port serves. */
export const servedName = (port: number): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.once('error', reject);
  });
