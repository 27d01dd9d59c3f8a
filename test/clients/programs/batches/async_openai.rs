use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::traits::RequestOptionsBuilder;
use async_openai::types::batches::{Batch, BatchCompletionWindow, BatchEndpoint, BatchRequest, BatchStatus};
use async_openai::types::files::{CreateFileRequest, FileInput, FilePurpose};
use async_openai::types::InputSource;
use async_openai::Client;
use serde_json::{json, Value};
use std::fmt::Debug;
use std::future::Future;
use std::time::Duration;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const FAILING: &str = "[[fail 400]]";

struct Run {
    client: Client<OpenAIConfig>,
}

impl Run {
    async fn create(&self, prompts: &[&str]) -> Result<Batch, OpenAIError> {
        let line = |(n, prompt): (usize, &&str)| {
            let body = json!({"model": "tiny", "messages": [{"role": "user", "content": prompt}]});
            json!({"custom_id": format!("r{n}"), "method": "POST", "url": "/v1/chat/completions", "body": body})
        };
        let lines: Vec<String> = prompts.iter().enumerate().map(|each| line(each).to_string()).collect();
        let source = InputSource::VecU8 { filename: "in.jsonl".into(), vec: lines.join("\n").into_bytes() };
        let upload =
            CreateFileRequest { file: FileInput { source }, purpose: FilePurpose::Batch, expires_after: None };
        let request = BatchRequest {
            input_file_id: self.client.files().create(upload).await?.id,
            endpoint: BatchEndpoint::V1ChatCompletions,
            completion_window: BatchCompletionWindow::W24H,
            metadata: None,
            output_expires_after: None,
        };
        self.client.batches().create(request).await
    }

    async fn ended(&self, id: &str) -> Outcome<Batch> {
        use BatchStatus::{Cancelling, InProgress, Validating};
        for _ in 0..600 {
            let batch = self.client.batches().retrieve(id).await?;
            if ![Validating, InProgress, Cancelling].contains(&batch.status) {
                return Ok(batch);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Err("the batch did not end within a minute".into())
    }

    async fn lines(&self, file: &Option<String>) -> Outcome<Vec<Value>> {
        let content = self.client.files().content(file.as_deref().ok_or("no file")?).await?;
        let text = String::from_utf8(content.to_vec())?;
        Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
    }
}

fn sorted(lines: &[Value], pointer: &str) -> Vec<String> {
    let mut texts: Vec<String> =
        lines.iter().map(|line| line.pointer(pointer).and_then(Value::as_str).unwrap_or("").into()).collect();
    texts.sort();
    texts
}

fn same<T: PartialEq + Debug>(got: T, expected: T) -> Outcome<()> {
    if got == expected { Ok(()) } else { Err(format!("expected {expected:?}, got {got:?}").into()) }
}

/// Runs a cell and prints one line of JSON for it.
async fn cell<T>(name: &str, work: impl Future<Output = Outcome<T>>) -> Option<T> {
    let outcome = work.await;
    let failure = outcome.as_ref().err().map(|error| error.to_string());
    // The reader looks for lines that begin with the name.
    println!("{{\"name\":{},\"error\":{}}}", json!(name), json!(failure));
    outcome.ok()
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let of = |name| std::env::var(name).unwrap_or_default();
    let config = OpenAIConfig::new()
        .with_api_base(of("OFFPEAK_URL") + "/openai/v1")
        .with_api_key(of("OFFPEAK_API_KEY"));
    let run = Run { client: Client::with_config(config) };

    let made = cell("openai: create", async {
        let created = run.create(&["one", FAILING, "two", FAILING]).await?;
        same(created.expires_at.unwrap_or(0) - created.created_at, 86_400)?;
        let batch = run.ended(&created.id).await?;
        let counts = batch.request_counts.clone().ok_or("no counts")?;
        same([counts.total, counts.completed, counts.failed], [4, 2, 2])?;
        Ok(batch)
    });
    let Some(batch) = made.await else { return };

    cell("openai: results", async {
        let results = run.lines(&batch.output_file_id).await?;
        let texts = sorted(&results, "/response/body/choices/0/message/content");
        same(texts, vec!["Echo: one".to_string(), "Echo: two".to_string()])
    })
    .await;

    cell("openai: failed requests", async {
        let errors = run.lines(&batch.error_file_id).await?;
        same(sorted(&errors, "/error/message").iter().any(String::is_empty), false)?;
        same(sorted(&errors, "/custom_id"), vec!["r1".to_string(), "r3".to_string()])
    })
    .await;

    cell("openai: list", async {
        let list = run.client.batches().query(&[("limit", "1")])?.list().await?;
        same(&list.data[0].id, &batch.id)
    })
    .await;

    cell("openai: cancel", async {
        let id = run.create(&["[[hang]]"]).await?.id;
        run.client.batches().cancel(&id).await?;
        same(run.ended(&id).await?.status, BatchStatus::Cancelled)
    })
    .await;
}
