package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sort"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

var (
	ctx    = context.Background()
	client = anthropic.NewClient(option.WithBaseURL(os.Getenv("OFFPEAK_URL")+"/anthropic"), option.WithAPIKey(os.Getenv("OFFPEAK_API_KEY")))
)

const failing = "[[fail 400]]"

func create(prompts ...string) (*anthropic.MessageBatch, error) {
	requests := []anthropic.MessageBatchNewParamsRequest{}
	for n, prompt := range prompts {
		requests = append(requests, anthropic.MessageBatchNewParamsRequest{
			CustomID: fmt.Sprintf("r%d", n),
			Params: anthropic.MessageBatchNewParamsRequestParams{
				Model:     "tiny",
				MaxTokens: 50,
				Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(prompt))},
			},
		})
	}
	return client.Messages.Batches.New(ctx, anthropic.MessageBatchNewParams{Requests: requests})
}

func ended(id string) (*anthropic.MessageBatch, error) {
	for range 600 {
		batch, err := client.Messages.Batches.Get(ctx, id, anthropic.MessageBatchGetParams{})
		if err != nil {
			return nil, err
		}
		if batch.ProcessingStatus == anthropic.MessageBatchProcessingStatusEnded {
			return batch, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil, errors.New("the batch did not end within a minute")
}

func main() {
	var batch *anthropic.MessageBatch
	texts, ids := []string{}, []string{}
	cell("anthropic: create", func() error {
		created, err := create("one", failing, "two", failing)
		if err != nil {
			return err
		}
		if batch, err = ended(created.ID); err != nil {
			return err
		}
		counts := batch.RequestCounts
		return same([]int64{counts.Succeeded, counts.Errored}, []int64{2, 2})
	})
	cell("anthropic: results", func() error {
		stream := client.Messages.Batches.ResultsStreaming(ctx, batch.ID, anthropic.MessageBatchResultsParams{})
		for stream.Next() {
			each := stream.Current()
			switch result := each.Result.AsAny().(type) {
			case anthropic.MessageBatchSucceededResult:
				texts = append(texts, result.Message.Content[0].Text)
			case anthropic.MessageBatchErroredResult:
				if result.Error.Error.Message != "" {
					ids = append(ids, each.CustomID)
				}
			}
		}
		if err := stream.Err(); err != nil {
			return err
		}
		sort.Strings(texts)
		return same(texts, []string{"Echo: one", "Echo: two"})
	})
	cell("anthropic: failed requests", func() error {
		sort.Strings(ids)
		return same(ids, []string{"r1", "r3"})
	})
	cell("anthropic: list", func() error {
		pages := client.Messages.Batches.ListAutoPaging(ctx, anthropic.MessageBatchListParams{Limit: anthropic.Int(1)})
		if !pages.Next() {
			return errors.New("the list is empty")
		}
		return same(pages.Current().ID, batch.ID)
	})
	cell("anthropic: cancel", func() error {
		slow, err := create("[[hang]]")
		if err != nil {
			return err
		}
		if _, err := client.Messages.Batches.Cancel(ctx, slow.ID, anthropic.MessageBatchCancelParams{}); err != nil {
			return err
		}
		last, err := ended(slow.ID)
		if err != nil {
			return err
		}
		return same(last.RequestCounts.Canceled, 1)
	})
}

func same(got, expected any) error {
	if fmt.Sprint(got) != fmt.Sprint(expected) {
		return fmt.Errorf("expected %v, got %v", expected, got)
	}
	return nil
}

// cell runs a cell and prints one line of JSON for it.
func cell(name string, run func() error) {
	var failure any
	if err := run(); err != nil {
		failure = err.Error()
	}
	text, _ := json.Marshal(struct {
		Name  string `json:"name"`
		Error any    `json:"error"`
	}{name, failure})
	fmt.Println(string(text))
}
