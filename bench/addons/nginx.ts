const common = (
  folder: string,
  name: string,
  workers: number,
) => `worker_processes ${workers}; daemon off; user root;
pid ${folder}/${name}.pid; error_log ${folder}/${name}.log;
events { worker_connections 20000; }`;

/** Returns an endpoint's configuration, which serves files of a folder `www` at `listen`, `address:port`. */
export const endpointConfig = (folder: string, listen: string) => `${common(folder, 'endpoint', 1)}
http { access_log off; sendfile on; keepalive_requests 1000000000;
  server { listen ${listen} backlog=4096; root ${folder}/www; } }`;

/** Returns the configuration for an Ingress: it forwards the Host header and the client's address, and buffers nothing. */
export const proxyConfig = (
  folder: string,
  { port, endpoint, host, workers }: { port: number; endpoint: string; host: string; workers: number },
) => `${common(folder, 'proxy', workers)}
http { access_log off; keepalive_requests 1000000000;
  upstream endpoint { server ${endpoint}; keepalive 256; keepalive_requests 1000000000; }
  server { listen 127.0.0.1:${port} backlog=4096; server_name ${host};
    location / { proxy_pass http://endpoint; proxy_http_version 1.1; proxy_buffering off; proxy_request_buffering off;
      proxy_set_header Connection ""; proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Host $http_host; proxy_set_header X-Forwarded-Port $server_port;
      proxy_set_header X-Forwarded-Proto $scheme; } } }`;
